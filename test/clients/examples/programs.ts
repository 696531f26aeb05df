/** How all examples of a language run in one process. Each announces itself with a line of output. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { goTools, type GoTools } from '../../../clients/conformance/go.ts';
import { lackingPhp } from '../../../clients/conformance/php.ts';
import { pythonTools } from '../../../clients/conformance/python.ts';
import { lackingRuby } from '../../../clients/conformance/ruby.ts';
import { lackingPackages } from '../../services/debian.ts';

const run = promisify(execFile);
const CLIENTS = resolve('clients');
/** Many times what the examples take. */
const LONGEST_RUN_MS = 120_000;

export interface Example {
  readonly name: string;
  readonly code: string;
}

/** The output of each example by its name. @throws Error with the whole output when an example fails */
export type Run = (examples: readonly Example[], folder: string) => Promise<ReadonlyMap<string, string>>;

/** Gets the tools of a language; else tells why they cannot be had. */
export const PROGRAMS: Readonly<Record<string, () => Promise<Run | string>>> = {
  async curl() {
    const lacks = await lackingPackages(['curl'], ['curl']);
    if (lacks !== null) return lacks;
    return async (examples, folder) => {
      const all = examples.map(({ name, code }) => `echo 'example ${name}'\n${code}\necho\n`);
      return outputs('sh', ['-e', '-c', all.join('')], folder);
    };
  },

  node: () =>
    Promise.resolve(async (examples, folder) => {
      await writeAll(examples, folder, '.mjs');
      const entry = JSON.stringify(pathToFileURL(resolve('src/index.ts')).href);
      const all = [
        "import { registerHooks } from 'node:module';\n",
        `registerHooks({ resolve: (name, context, next) => next(name === 'millrace' ? ${entry} : name, context) });\n`,
        ...examples.map(({ name }) => `console.log('example ${name}');\nawait import('./${name}.mjs');\n`),
      ];
      await writeFile(join(folder, 'all.mjs'), all.join(''));
      return outputs(process.execPath, ['all.mjs'], folder);
    }),

  async python() {
    const tools = await pythonTools(join(CLIENTS, 'python'));
    if (typeof tools === 'string') return tools;
    return async (examples, folder) => {
      await writeAll(examples, folder, '.py');
      const all = 'import sys\nfor name in sys.argv[1:]:\n    print("example", name)\n    exec(open(f"{name}.py").read(), {})';
      return outputs(join(tools.bin, 'python'), ['-W', 'error::DeprecationWarning', '-c', all, ...names(examples)], folder);
    };
  },

  async ruby() {
    const lacks = await lackingRuby();
    if (lacks !== null) return lacks;
    return async (examples, folder) => {
      await writeAll(examples, folder, '.rb');
      const all = 'ARGV.each { |name| puts("example #{name}") || load("./#{name}.rb", true) }';
      return outputs('ruby', ['-w', '-I', join(CLIENTS, 'ruby/lib'), '-e', all, ...names(examples)], folder);
    };
  },

  async go() {
    const tools = await goTools();
    return typeof tools === 'string' ? tools : (examples, folder) => runGo(tools, examples, folder);
  },

  async php() {
    const lacks = await lackingPhp();
    if (lacks !== null) return lacks;
    return async (examples, folder) => {
      await writeAll(
        examples.map(({ name, code }) => ({ name, code: `<?php\n\n${code}` })),
        folder,
        '.php',
      );
      await mkdir(join(folder, 'vendor'));
      await writeFile(join(folder, 'vendor/autoload.php'), `<?php require_once '${join(CLIENTS, 'php/autoload.php')}';`);
      const all = 'foreach (array_slice($argv, 1) as $name) { echo "example $name\n"; (static fn () => require "./$name.php")(); }';
      const strict = ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', '-d', 'log_errors=0'];
      return outputs('php', [...strict, '-r', all, '--', ...names(examples)], folder);
    };
  },
};

/** One program with a function for each example, because linking each of them takes long. */
async function runGo({ go, env }: GoTools, examples: readonly Example[], folder: string): Promise<ReadonlyMap<string, string>> {
  await writeAll(
    examples.map(({ name, code }) => ({ name, code: code.replace('func main()', `func ${name}()`) })),
    folder,
    '.go',
  );
  const calls = examples.map(({ name }) => `\tfmt.Println("example ${name}")\n\t${name}()\n`);
  await writeFile(join(folder, 'all.go'), `package main\n\nimport "fmt"\n\nfunc main() {\n${calls.join('')}}\n`);
  const library = 'millrace.example/millrace';
  const module = ['module acme.example/leads', 'go 1.23', `require ${library} v0.1.0`, `replace ${library} => ${join(CLIENTS, 'go')}`];
  await writeFile(join(folder, 'go.mod'), `${module.join('\n')}\n`);
  await tool(go, ['build', '-o', 'all', '.'], folder, env);
  return outputs(join(folder, 'all'), [], folder);
}

/** Writes each example into a file with its name. */
async function writeAll(examples: readonly Example[], folder: string, ending: string): Promise<void> {
  await Promise.all(examples.map(({ name, code }) => writeFile(join(folder, `${name}${ending}`), code)));
}

function names(examples: readonly Example[]): string[] {
  return examples.map(({ name }) => name);
}

async function outputs(command: string, args: readonly string[], folder: string): Promise<ReadonlyMap<string, string>> {
  const [, ...parts] = (await tool(command, args, folder)).split(/^example (?=\w+$)/m);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
}

/** The standard output of a command that ends well and complains about nothing. @throws Error with all that it printed */
async function tool(command: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, timeout: LONGEST_RUN_MS, maxBuffer: 64 * 1024 * 1024 };
  const failed = ({ stdout, stderr }: { stdout: string; stderr: string }, cause?: unknown): Error =>
    new Error(`${command} failed: ${stderr.slice(-3000)}\n${stdout.slice(-3000)}`, { cause });
  const done = await run(command, args, options).catch((error: unknown) => {
    throw failed(error as { stdout: string; stderr: string }, error);
  });
  if (/warn|notice|deprecat/i.test(done.stderr)) throw failed(done);
  return done.stdout;
}
