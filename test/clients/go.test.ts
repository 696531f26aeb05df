/** The Go library: its checkers find nothing, its tests pass, and the examples of its README run. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { goTools, staticcheck, type GoTools } from '../../clients/conformance/go.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { publishedExamples } from '../../src/service/reference/code-samples.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LIBRARY = resolve('clients/go');
let tools: GoTools | null = null;

beforeAll(async () => {
  const found = await goTools();
  if (typeof found === 'string') available(false, 'the Go library', found);
  else tools = found;
});

/** The output of a tool. When the tool fails, it is the message of the error. */
async function output(tool: string, args: readonly string[], cwd = LIBRARY, env: Record<string, string> = {}): Promise<string> {
  try {
    const { stdout, stderr } = await run(tool, args, { cwd, env: { ...process.env, ...tools?.env, ...env } });
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`, { cause: error });
  }
}

it('gofmt and go vet find nothing in the Go library', async ({ skip }) => {
  if (tools === null) return skip();
  expect(await output(tools.gofmt, ['-l', '.'])).toBe('');
  expect(await output(tools.go, ['vet', './...'])).toBe('');
});

it('gofmt finds nothing in the Go examples of the reference', async ({ skip }) => {
  if (tools === null) return skip();
  const folder = await temporary();
  for (const [name, { go: lines }] of Object.entries(publishedExamples()))
    if (lines !== undefined) await writeFile(join(folder, `${name}.go`), `${lines.join('\n')}\n`);
  expect(await output(tools.gofmt, ['-l', folder])).toBe('');
});

it('staticcheck finds nothing in the Go library', async ({ skip }) => {
  if (tools === null) return skip();
  const checker = await staticcheck(tools).catch((error: unknown) => String(error));
  if (!available(checker.startsWith('/'), 'staticcheck', `it could not be built: ${checker}`)) return skip();
  // It starts the Go that it finds on PATH.
  const { stdout } = await run(tools.go, ['env', 'GOROOT']);
  expect(await output(checker, ['./...'], LIBRARY, { PATH: `${join(stdout.trim(), 'bin')}:${process.env['PATH']}` })).toBe('');
});

it('the Go library needs nothing but the standard library', async () => {
  expect(await readFile(join(LIBRARY, 'go.mod'), 'utf8')).not.toContain('require');
});

describe('the README of the Go library', () => {
  it('has the examples that go test runs, against the sample service', async ({ skip }) => {
    if (tools === null) return skip();
    const [first = '', ...others] = await goBlocks();
    const tested = await readFile(join(LIBRARY, 'example_test.go'), 'utf8');
    const missing = others.filter((code) => !tested.includes(code) && !tested.includes(indented(code)));
    expect(missing).toEqual([]);
    expect(others.length).toBe(9);
    expect(await readFile('docs/clients.md', 'utf8')).toContain(first);

    const service = await sample();
    const env = { MILLRACE_API_KEY: 'sample-key', MILLRACE_BASE_URL: service.url };
    const printed = await output(tools.go, ['test', '-count=1', '-v', '.'], LIBRARY, env);
    expect(printed.match(/^--- PASS: Example/gm)?.length).toBe(tested.match(/\/\/ Output:/g)?.length);
    expect(printed).not.toContain('SKIPPED');

    // As its user has it: a module of its own that takes the library from a checkout.
    const folder = await temporary();
    await writeFile(join(folder, 'main.go'), first.replace('http://127.0.0.1:8080', service.url));
    await output(tools.go, ['mod', 'init', 'acme.example/leads'], folder);
    const library = ['-require=millrace.example/millrace@v0.1.0', `-replace=millrace.example/millrace=${LIBRARY}`];
    await output(tools.go, ['mod', 'edit', ...library], folder);
    expect(await output(tools.go, ['run', '.'], folder)).toBe('Jérôme Noël Director of Sales\nTundra Logistics\n');
  });
});

async function goBlocks(): Promise<string[]> {
  const readme = await readFile(join(LIBRARY, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```go\n([^]*?)^```/gm)].map(([, code = '']) => code);
}

/** The same a tab further in, as in the body of a function. */
function indented(code: string): string {
  return code.replaceAll(/^(?=.)/gm, '\t');
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-go-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function sample(): Promise<Awaited<ReturnType<typeof startService>>> {
  const folder = await temporary();
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(() => service.close(AbortSignal.abort()));
  return service;
}
