/** The high-level calls. The examples of docs/library.md all compile, and the first one runs. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DataServiceClient, DataServiceError, MAX_VERIFY_EMAILS } from '../../src/index.ts';
import { cleanUp } from '../support/clean-up.ts';
import { answer, bodyOf, makeClient, PERSON, PERSON_TEXT, serve, serveCanned } from './servers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const entry = join(root, 'src/index.ts');
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
    expect(await makeClient(await serveCanned({ status: 404, body: '{}' })).enrich({ domain: 'acme.example' })).toBeNull();
  });

  it.each([
    [401, {}, { code: 'http_401', retryable: false, retryAfterMs: null }],
    [404, { 'content-type': 'text/html' }, { code: 'wrong_address', retryable: false }],
    [422, {}, { code: 'http_422', retryable: false }],
    [429, { 'retry-after': '3' }, { code: 'rate_limited', retryable: true, retryAfterMs: 3000 }],
    [451, {}, { code: 'suppressed_person', retryable: false }],
    [500, { 'retry-after': '4' }, { code: 'http_500', retryable: true, retryAfterMs: 4000 }],
    [503, { 'retry-after': '5' }, { code: 'overloaded', retryable: true, retryAfterMs: 5000 }],
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
  it('returns one verdict per address in the order of the request, for duplicates and unanswered ones too', async () => {
    const data = [
      { email: 'B@acme.example', result: 'risky', score: 0.4 },
      { email: 'a@acme.example', result: 'deliverable', score: 1 },
    ];
    const client = makeClient(await serveCanned({ status: 200, body: JSON.stringify({ data }) }));
    expect(await client.verify([' A@acme.example', 'c@acme.example', 'b@acme.example', 'a@acme.example'])).toMatchObject([
      { email: 'a@acme.example', result: 'deliverable', confidence: 100 },
      { email: 'c@acme.example', result: 'unknown', confidence: null, reason: 'not_answered' },
      { email: 'B@acme.example', result: 'risky', confidence: 40 },
      { email: 'a@acme.example', result: 'deliverable', confidence: 100 },
    ]);
  });

  it('refuses too many addresses, and sends no request for none', async () => {
    const client = makeClient('http://127.0.0.1:1');
    await expect(client.verify(Array.from({ length: MAX_VERIFY_EMAILS + 1 }, () => 'a@acme.example'))).rejects.toThrow(RangeError);
    expect(await client.verify([])).toEqual([]);
  });

  it('accepts an answer without any of the addresses', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: '{"data":[]}' }));
    expect(await client.verify(['a@acme.example'])).toEqual([
      { email: 'a@acme.example', result: 'unknown', confidence: null, reason: 'not_answered' },
    ]);
  });

  it('throws when the answer is about another address', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: '{"email":"other@acme.example","result":"risky"}' }));
    expect(await errorOf(client.verify(['a@acme.example']))).toMatchObject({ code: 'bad_body', retryable: true });
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
      '--allowImportingTsExtensions --types node --typeRoots';
    const tsc = run(join(root, 'node_modules/.bin/tsc'), [...flags.split(' '), join(root, 'node_modules/@types'), ...files]);
    // tsc writes its errors to standard output, which an exception would hide.
    const output = await tsc.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    );
    expect(output).toBe('');
  });

  it('has a first example that runs and lets the process end', async () => {
    const url = await serve(async (request, response) => {
      const body = JSON.parse(await bodyOf(request)) as { emails?: string[] };
      const known = request.headers.authorization === 'Bearer docs-key';
      const verdicts = {
        data: body.emails?.map((email) => ({ email, result: email.startsWith('ana') ? 'deliverable' : 'unknown', confidence: 50 })),
      };
      answer(
        response,
        known ? { status: 200, body: request.url === '/v1/enrich' ? PERSON_TEXT : JSON.stringify(verdicts) } : { status: 401 },
      );
    });
    const file = join(folder(), 'example.mts');
    const source = examples[0] ?? '';
    expect(source).toContain('https://api.example.com');
    writeFileSync(file, source.replace("'millrace'", `'${pathToFileURL(entry).href}'`).replace('https://api.example.com', url));
    const { stdout } = await run(process.execPath, [file], { env: { ...process.env, MILLRACE_API_KEY: 'docs-key' } });
    expect(stdout).toBe('Ana Example, CTO at Acme\nana@acme.example: deliverable (50)\nnobody@acme.example: unknown (50)\n');
  });
});

it('the entry point exports the client alone, without the pipeline', async () => {
  const source = readFileSync(entry, 'utf8');
  expect([...source.matchAll(/from '(.*?)'/g)].every(([, from]) => /^\.\/(client\/|util\/errors\.ts)/.test(from ?? ''))).toBe(true);
  expect(Object.keys(await import('../../src/index.ts'))).toContain('DataServiceClient');
  expect(new DataServiceClient({ baseUrl: 'https://api.example.com', apiKey: null })).toBeInstanceOf(DataServiceClient);
});
