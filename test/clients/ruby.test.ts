/** The Ruby library: its checkers find nothing, it installs, and the examples of its README run. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { lackingRuby } from '../../clients/conformance/ruby.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LIBRARY = resolve('clients/ruby');
/** Ruby has the checker of signatures, but not always its command. */
const RBS = ['-e', 'load Gem.bin_path("rbs", "rbs")', '--'];
/** Where it finds the types of the library, and of the standard libraries that they name. */
const TYPES = ['net-http', 'uri', 'pathname', 'date', 'time'].flatMap((name) => ['-r', name]).concat('-I', 'sig');
let isThere = false;

beforeAll(async () => {
  const lacks = await lackingRuby();
  isThere = available(lacks === null, 'the Ruby library', lacks ?? '');
});

/** The output of a tool. When the tool fails, it is the message of the error. */
async function output(tool: string, args: readonly string[], cwd = LIBRARY, env: Record<string, string> = {}): Promise<string> {
  try {
    const { stdout, stderr } = await run(tool, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 });
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`, { cause: error });
  }
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-ruby-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function examplesOf(): Promise<string[]> {
  const readme = await readFile(join(LIBRARY, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```ruby\n([^]*?)^```/gm)].map(([, code = '']) => code);
}

it('ruby -wc finds nothing in the Ruby library and in the examples of its README', async ({ skip }) => {
  if (!isThere) skip();
  const folder = await temporary();
  const examples = (await examplesOf()).map((code, i) => ({ code, file: join(folder, `example_${i}.rb`) }));
  for (const { code, file } of examples) await writeFile(file, code);
  const files = [...globSync('**/*.{rb,gemspec}', { cwd: LIBRARY }), ...examples.map(({ file }) => file)];
  expect(files.length).toBeGreaterThan(20);
  for (const file of files) expect(await output('ruby', ['--disable-gems', '-wc', file]), file).toBe('Syntax OK\n');
});

it('the tests of the Ruby library pass without a warning', async ({ skip }) => {
  if (!isThere) skip();
  const printed = await output('ruby', ['-w', '-I', 'lib', 'test/millrace_test.rb']);
  expect(printed).toContain(' 0 failures, 0 errors, 0 skips');
  expect(printed).not.toContain('warning');
});

it('the signatures of the Ruby library are valid RBS', async ({ skip }) => {
  if (!isThere) skip();
  expect(await output('ruby', [...RBS, ...TYPES, 'validate', '--silent'])).toBe('');
});

it('gem builds and installs the Ruby library with its signatures', async ({ skip }) => {
  if (!isThere) skip();
  const folder = await temporary();
  const source = join(folder, 'source');
  const home = join(folder, 'home');
  await cp(LIBRARY, source, { recursive: true });
  // `gem build` warns of files that only their owner may read, as in a private folder.
  await output('chmod', ['-R', 'a+rX', source]);
  expect(await output('gem', ['build', '--strict', 'millrace.gemspec'], source)).not.toContain('WARNING');
  const built = globSync('millrace-*.gem', { cwd: source });
  await output('gem', ['install', '--local', '--no-document', '--install-dir', home, ...built], source);
  const code = 'require "millrace"; dir = Gem.loaded_specs["millrace"].gem_dir; puts dir, Millrace::VERSION, Dir["#{dir}/sig/*.rbs"].size';
  const env = { GEM_HOME: home, GEM_PATH: home };
  expect(await output('ruby', ['-w', '-e', code], folder, env)).toMatch(/millrace-ruby-.*\n0\.\d+\.\d+\n6\n$/);
});

it('the examples of the README run, and the types of their calls are those of the signatures', async ({ skip }) => {
  if (!isThere) skip();
  const folder = await temporary();
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(() => service.close(AbortSignal.abort()));
  const examples = (await examplesOf()).map((code) => code.replace('http://127.0.0.1:8080', service.url));
  expect(examples.length).toBe(7);
  const file = join(folder, 'examples.rb');
  await writeFile(file, examples.map((code) => `-> {\n${code.replace('require "millrace"\n', '')}}.call\n`).join('\n'));
  const env = { MILLRACE_API_KEY: 'sample-key', MILLRACE_BASE_URL: service.url };
  const plain = await output('ruby', ['-w', '-I', 'lib', '-r', 'millrace', file], LIBRARY, env);
  expect(plain).toContain('Jérôme Noël, Director of Sales\n');
  expect(plain).toContain('risky imani.irving@gmail.com\n');
  expect(plain).toContain('Jérôme Noël at tundra-logistics.example\n');
  expect(plain).toContain('validation_failed 422 req_');
  expect(plain).toContain('completed 0 1000\n');
  expect(plain).toContain('\n401\n');
  expect(plain).not.toContain('warning');

  // A call that breaks its signature then raises, if the checker is there before the library.
  const checked = { RBS_TEST_TARGET: 'Millrace::*', RBS_TEST_LOGLEVEL: 'error', RBS_TEST_OPT: TYPES.join(' ') };
  const typed = await output('ruby', ['-I', 'lib', '-r', 'rbs/test/setup', '-r', 'millrace', file], LIBRARY, { ...env, ...checked });
  expect(typed).toContain('completed 0 1000\n');
});

it('docs/clients.md shows the first example of the README', async () => {
  expect(await readFile('docs/clients.md', 'utf8')).toContain((await examplesOf())[0]);
});
