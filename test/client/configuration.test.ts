/** The configuration that is refused before any call is made. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MAX_KEY_FILE_BYTES, readApiKey } from '../../src/client/api-key.ts';
import { parseBaseUrl } from '../../src/client/base-url.ts';
import { DataServiceClient } from '../../src/client/data-service-client.ts';
import { ConfigError } from '../../src/util/errors.ts';
import { cleanUp } from '../support/clean-up.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-key-'));
  cleanUp(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function file(content: string): string {
  const path = join(folder(), 'key');
  writeFileSync(path, content);
  return path;
}

async function refusal(promise: Promise<unknown>): Promise<ConfigError> {
  const error: unknown = await promise.then(
    () => null,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error as ConfigError;
}

describe('the base URL', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com', ''],
    ['https://api.example.com/', 'https://api.example.com', ''],
    ['http://127.0.0.1:8080/a/b//', 'http://127.0.0.1:8080', '/a/b'],
    ['HTTPS://API.example.com:443/x y', 'https://api.example.com', '/x%20y'],
    ['http://[::1]:1/', 'http://[::1]:1', ''],
  ])('%s', (text, origin, prefix) => expect(parseBaseUrl(text)).toMatchObject({ origin, prefix }));

  it.each([
    '',
    'api.example.com',
    'ftp://api.example.com',
    'file:///etc/passwd',
    'https://',
    'https://api.example.com?x=1',
    'https://api.example.com/#v1',
    'http://u@api.example.com',
    'http://u:hunter2@api.example.com',
    'http://u:hunter2@[',
  ])('%j is refused, without showing a password', (text) => {
    expect(() => parseBaseUrl(text)).toThrow(ConfigError);
    expect(() => parseBaseUrl(text)).toThrow(/^baseUrl: /);
    expect(() => parseBaseUrl(text)).not.toThrow(/hunter2/);
  });
});

describe('the client’s options', () => {
  it.each(['', 'two words', 'line\nbreak', 'tab\t', 'nul\0', 'clé-secrète', 'k'.repeat(5000)])(
    'the key %j is refused and not shown',
    (apiKey) => {
      let error: unknown;
      try {
        void new DataServiceClient({ baseUrl: 'https://api.example.com', apiKey });
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(ConfigError);
      if (apiKey !== '') expect(inspect(error)).not.toContain(apiKey);
    },
  );

  it.each(['timeoutMs', 'connections', 'maxResponseBytes'])('%s must be a whole number above 0', (name) => {
    for (const value of [0, -1, 1.5, NaN, Infinity]) {
      expect(() => new DataServiceClient({ baseUrl: 'https://api.example.com', apiKey: null, [name]: value })).toThrow(
        `${name}: expected a whole number above 0`,
      );
    }
  });
});

describe('the API key', () => {
  it('comes from the variable, trimmed', async () => {
    expect(await readApiKey({ MILLRACE_API_KEY: ' abc\n' })).toBe('abc');
  });

  it('comes from the file, trimmed', async () => {
    expect(await readApiKey({ MILLRACE_API_KEY_FILE: file('  abc\r\n') })).toBe('abc');
    expect(await readApiKey({ MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: file('abc') })).toBe('abc');
  });

  it('comes from the variable without a look at the file when both are set', async () => {
    expect(await readApiKey({ MILLRACE_API_KEY: 'abc', MILLRACE_API_KEY_FILE: '/no/such/file' })).toBe('abc');
  });

  it('reads as null when neither is set', async () => {
    expect(await readApiKey({})).toBeNull();
    expect(await readApiKey({ MILLRACE_API_KEY: ' ', MILLRACE_API_KEY_FILE: '' })).toBeNull();
  });

  it('with a line break is refused and not shown', async () => {
    const error = await refusal(readApiKey({ MILLRACE_API_KEY_FILE: file('first-half\nsecond-half') }));
    expect(error.code).toBe('bad_api_key');
    expect(inspect(error)).not.toMatch(/half/);
  });

  it('may fill its file up to the maximum size, but not beyond', async () => {
    expect(await readApiKey({ MILLRACE_API_KEY_FILE: file(`abc${' '.repeat(MAX_KEY_FILE_BYTES - 3)}`) })).toBe('abc');
    const error = await refusal(readApiKey({ MILLRACE_API_KEY_FILE: file(`abc${' '.repeat(MAX_KEY_FILE_BYTES)}`) }));
    expect(error.message).toMatch(/larger than 16384 bytes/);
  });

  it.each([
    ['missing', () => join(folder(), 'absent'), /does not exist/],
    ['empty', () => file('\n'), /is empty/],
    ['a folder', () => folder(), /not a regular file|cannot be read/],
    [
      'a pipe without a writer',
      () => {
        const path = join(folder(), 'pipe');
        execFileSync('mkfifo', [path]);
        return path;
      },
      /not a regular file/,
    ],
  ])('in a file that is %s fails with the path of the file', async (_what, make, words) => {
    const path = make();
    const error = await refusal(readApiKey({ MILLRACE_API_KEY_FILE: path }));
    expect(error).toMatchObject({ code: 'api_key_file', exitCode: 78 });
    expect(error.message).toContain(path);
    expect(error.message).toMatch(words);
  });

  it('in a file behind a closed folder fails with the path of the file', async () => {
    const closed = join(folder(), 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0);
    // The superuser may read the folder; then the file does not exist.
    const error = await refusal(readApiKey({ MILLRACE_API_KEY_FILE: join(closed, 'key') }));
    expect(error.message).toMatch(/cannot be read \(EACCES\)|does not exist/);
  });
});
