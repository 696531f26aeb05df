/** The high-level calls. The examples of docs/library.md compile and run. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DataServiceError } from '../../src/index.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { cleanUp } from '../support/clean-up.ts';
import { makeClient, PERSON, PERSON_TEXT, serveCanned } from './servers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The build: what a user imports, and its types without the sources. */
const entry = join(root, 'dist/index.js');
const run = promisify(execFile);

async function errorOf(promise: Promise<unknown>): Promise<DataServiceError> {
  const error: unknown = await promise.then(
    () => null,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(DataServiceError);
  return error as DataServiceError;
}

describe('enrich', () => {
  it('returns the record, or null', async () => {
    expect(await makeClient(await serveCanned({ status: 200, body: PERSON_TEXT })).enrich({ email: 'ana@acme.example' })).toEqual(PERSON);
    const miss = await serveCanned({ status: 404, body: '{"code":"no_match","status":404}' });
    expect(await makeClient(miss).enrich({ domain: 'acme.example' })).toBeNull();
  });

  it.each([
    [401, {}, { code: 'http_401', retryable: false, retryAfterMs: null }],
    [404, { 'content-type': 'text/html' }, { code: 'wrong_address', retryable: false }],
    [422, {}, { code: 'http_422', retryable: false }],
    [429, { 'retry-after': '3' }, { code: 'http_429', retryable: true, retryAfterMs: 3000 }],
    [451, {}, { code: 'http_451', retryable: false }],
    [500, { 'retry-after': '4' }, { code: 'http_500', retryable: true, retryAfterMs: 4000 }],
    [503, { 'retry-after': '5' }, { code: 'http_503', retryable: true, retryAfterMs: 5000 }],
  ])('throws a DataServiceError for status %i', async (status, headers, expected) => {
    const url = await serveCanned({ status, headers: { 'x-request-id': 'req_7', ...headers } });
    const error = await errorOf(makeClient(url).enrich({ email: 'ana@acme.example' }));
    expect(error).toMatchObject({ name: 'DataServiceError', status, requestId: 'req_7', ...expected });
    expect(error.message).toContain(`POST ${url}/v1/enrich: `);
  });

  it('throws without an answer, and the error tells whether to try again', async () => {
    expect(await errorOf(makeClient('http://127.0.0.1:1').enrich({ email: 'a@acme.example' }))).toMatchObject({
      status: 0,
      code: 'network',
      retryable: true,
    });
    const signal = AbortSignal.abort();
    expect(await errorOf(makeClient('http://127.0.0.1:1').enrich({ email: 'a@acme.example' }, { signal }))).toMatchObject({
      status: 0,
      code: 'aborted',
      retryable: false,
    });
  });
});

describe('verify', () => {
  it('returns one verdict for one address, and a list for a list', async () => {
    const data = [{ email: 'a@acme.example', result: 'risky' }];
    expect(await makeClient(await serveCanned({ status: 200, body: JSON.stringify({ data }) })).verify(['a@acme.example'])).toEqual(data);
    expect(await makeClient(await serveCanned({ status: 200, body: JSON.stringify(data[0]) })).verify('a@acme.example')).toEqual(data[0]);
  });

  it('sends no request for an empty list', async () => {
    expect(await makeClient('http://127.0.0.1:1').verify([])).toEqual([]);
  });
});

describe('docs/library.md', () => {
  const examples = [...readFileSync(join(root, 'docs/library.md'), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    (match) => match[1] ?? '',
  );
  const folder = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'millrace-docs-'));
    cleanUp(() => rmSync(path, { recursive: true, force: true }));
    return path;
  };

  it('starts with the example of docs/clients.md', () => {
    expect(readFileSync(join(root, 'docs/clients.md'), 'utf8')).toContain(examples[0]);
  });

  it('has examples that compile', async () => {
    const path = folder();
    const files = examples.map((example, i) => {
      const file = join(path, `example-${i}.mts`);
      writeFileSync(file, example.replace("from 'millrace'", `from '${entry}'`));
      return file;
    });
    expect(files.length).toBeGreaterThanOrEqual(3);
    const flags =
      '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2024 --skipLibCheck ' +
      '--types node --typeRoots';
    const tsc = run(join(root, 'node_modules/.bin/tsc'), [...flags.split(' '), join(root, 'node_modules/@types'), ...files]);
    // tsc writes its errors to standard output, which an exception would hide.
    const output = await tsc.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    );
    expect(output).toBe('');
  });

  it('has examples that run against the real service and let the process end', async () => {
    const path = folder();
    const service = await startService({ store: join(path, 'store.sqlite'), sample: true, development: true });
    cleanUp(() => service.close(AbortSignal.abort()));
    const files = examples.map((example, i) => {
      const file = join(path, `example-${i}.mts`);
      writeFileSync(file, example.replace("'millrace'", `'${pathToFileURL(entry).href}'`).replace('http://127.0.0.1:8080', service.url));
      return file;
    });
    const all = join(path, 'all.mts');
    writeFileSync(all, files.map((file) => `await import('${pathToFileURL(file).href}');\n`).join(''));
    const env = { ...process.env, MILLRACE_API_KEY: 'sample-key', MILLRACE_BASE_URL: service.url };
    copyFileSync(join(root, 'fixtures/leads.csv'), join(path, 'leads.csv'));
    const { stdout, stderr } = await run(process.execPath, [all], { cwd: path, env });
    for (const line of [
      'Jérôme Noël, Director of Sales at Tundra Logistics',
      'risky imani.irving@gmail.com',
      'jerome.noel@tundra-logistics.example: deliverable (',
      'completed 0 1000',
      '200 records, exit code 0',
      'risky disposable',
      '401',
    ]) {
      expect(stdout).toContain(line);
    }
    expect(stderr).toContain('422 validation_failed false null req_');
  });

  it('has a first example that docs/clients.md shows too', () => {
    expect(readFileSync(join(root, 'docs/clients.md'), 'utf8')).toContain(examples[0]);
  });
});
