/** The PHP library: its checkers find nothing, it installs, and the examples of its README run. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { lackingPhp } from '../../clients/conformance/php.ts';
import { generatedFiles } from '../../clients/generate.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { available, lackingPackages } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LIBRARY = resolve('clients/php');
/** Every notice and warning is printed. */
const STRICT = ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', '-d', 'log_errors=0'];
let isThere = false;

beforeAll(async () => {
  const lacks = await lackingPhp();
  isThere = available(lacks === null, 'the PHP library', lacks ?? '');
});

/** The output of a tool. When the tool fails, it is the message of the error. */
async function output(tool: string, args: readonly string[], cwd = LIBRARY, env: Record<string, string> = {}): Promise<string> {
  try {
    const { stdout, stderr } = await run(tool, args, { cwd, env: { ...process.env, ...env } });
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`, { cause: error });
  }
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-php-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function sample(): Promise<string> {
  const folder = await temporary();
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(() => service.close(AbortSignal.abort()));
  return service.url;
}

async function examplesOf(): Promise<string[]> {
  const readme = await readFile(join(LIBRARY, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```php\n([^]*?)^```/gm)].map(([, code = '']) => code);
}

it('php -l finds nothing in the PHP library', async ({ skip }) => {
  if (!isThere) skip();
  const files = globSync('**/*.php', { cwd: LIBRARY });
  expect(files.length).toBeGreaterThan(100);
  // PHP 8.2 checks one file a call.
  const all = 'for file in "$@"; do php -d display_errors=stderr -l "$file" || exit 1; done';
  const printed = await output('sh', ['-c', all, 'sh', ...files]);
  expect(printed.split('\n').filter((line) => line !== '' && !line.startsWith('No syntax errors detected'))).toEqual([]);
});

it('the tests of the PHP library pass without a warning', async ({ skip }) => {
  if (!isThere) skip();
  // Traces with arguments, as in development.
  const options = [...STRICT, '-d', 'zend.exception_ignore_args=0'];
  expect(await output('php', [...options, 'test/library.php'])).toMatch(/^(\d+) of \1 tests pass\n$/);
});

it('the PHP library keeps to PSR-12', async ({ skip }) => {
  if (!isThere) skip();
  const lacks = await lackingPackages(['php-codesniffer'], ['phpcs']);
  if (!available(lacks === null, 'phpcs', lacks ?? '')) return skip();
  // Debian's version takes a readonly class for a statement that runs.
  expect(await output('phpcs', ['-q', '--standard=PSR12', '--exclude=PSR1.Files.SideEffects', '.'])).toBe('');
});

it('each generated file of the PHP library is one that the generator writes', () => {
  const written = generatedFiles().map(({ path }) => path);
  const folders = 'php/src/{Model,Enum,Calls}/*.php';
  expect(globSync(folders, { cwd: 'clients' }).filter((path) => !written.includes(path))).toEqual([]);
});

it('Composer accepts the PHP library, and installs it from a checkout', async ({ skip }) => {
  if (!isThere) skip();
  const lacks = await lackingPackages(['composer'], ['composer']);
  if (!available(lacks === null, 'Composer', lacks ?? '')) return skip();
  const folder = await temporary();
  const env = { COMPOSER_ALLOW_SUPERUSER: '1', COMPOSER_HOME: join(folder, 'home'), COMPOSER_DISABLE_NETWORK: '1' };
  const composer = (...args: string[]): Promise<string> => output('composer', ['--no-interaction', ...args], folder, env);
  expect(await composer('validate', '--strict', join(LIBRARY, 'composer.json'))).toContain('is valid');
  await writeFile(join(folder, 'composer.json'), '{}');
  await composer('config', 'repositories.millrace', 'path', LIBRARY);
  await composer('require', 'millrace/millrace:@dev');
  const [first = ''] = await examplesOf();
  await writeFile(join(folder, 'first.php'), `<?php\n${first.replace('http://127.0.0.1:8080', await sample())}`);
  expect(await output('php', [...STRICT, 'first.php'], folder)).toBe('Jérôme Noël, Director of Sales\n');
});

it('the examples of the README run', async ({ skip }) => {
  if (!isThere) skip();
  const folder = await temporary();
  const env = { MILLRACE_API_KEY: 'sample-key', MILLRACE_BASE_URL: await sample() };
  const [, ...examples] = await examplesOf();
  expect(examples.length).toBe(7);
  const printed = await Promise.all(
    examples.map(async (code, i) => {
      const file = join(folder, `example_${i}.php`);
      await writeFile(file, `<?php\n\ndeclare(strict_types=1);\n\n${code}`);
      return output('php', [...STRICT, '-d', `auto_prepend_file=${join(LIBRARY, 'autoload.php')}`, file], folder, env);
    }),
  );
  const all = printed.join('');
  expect(all).toContain('did you mean imani.irving@gmail.com?\n');
  expect(all).toContain('validation_failed 422 req_');
  expect(all).toContain('\ncobalt-materials.example\n');
  expect(all).toContain('completed 0 1000\n0 not_found\n');
  expect(all).toContain('401\n');
  expect(all).not.toMatch(/Warning|Notice|Deprecated/);
});

it('docs/clients.md shows the first example of the README', async () => {
  expect(await readFile('docs/clients.md', 'utf8')).toContain((await examplesOf())[0]);
});
