/** `millrace provider`, as a person starts it. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answer, serve } from '../client/servers.ts';
import { Folder } from '../support/cli.ts';

const KEY = 'acme-secret/key+0001';
const ENV = { MILLRACE_ACME_API_KEY: KEY };
const DEFINITION = `name: acme
title: Acme Data
baseUrl: http://127.0.0.1:1
authentication: {header: X-Key, prefix: "Key "}
operations:
  enrich:
    keys: [email, domain]
    request: {path: /people, query: {email: email, domain: domain}}
    answers: {match: status = 200, miss: status = 404}
    record: {email: body.email, note: body.note}
    credits: "2"
    creditsAtMost: 2
  verify:
    request: {path: /verify, query: {email: email}}
    record: {result: body.result}
`;
const ANSWERS = JSON.stringify([
  {
    name: 'a match',
    operation: 'enrich',
    lookups: [{ email: 'ada@example.com' }],
    response: { status: 200, body: { email: 'ada@example.com' } },
    expect: { kind: 'match' },
  },
  { name: 'a verdict', operation: 'verify', lookups: [{ email: 'ada@example.com' }], response: { status: 200, body: { result: 'risky' } } },
]);

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
});
afterAll(() => folder.remove());
const write = (name: string, text: string): void => writeFileSync(folder.at(name), text);
const parsed = (stdout: string): Record<string, never> => JSON.parse(stdout) as Record<string, never>;

describe('provider check', () => {
  beforeEach(() => {
    write('acme.yaml', DEFINITION);
    write('acme.answers.json', ANSWERS);
  });

  it('prints the definition in short and every judgement as JSON, and sends nothing', async () => {
    const { code, stdout, stderr } = await folder.run(['provider', 'check', 'acme.yaml']);
    expect(code).toBe(0);
    expect(stderr).toBe('millrace: 2 of 2 recorded answers are judged as expected (acme.answers.json)\n');
    expect(parsed(stdout)).toMatchObject({
      definition: { name: 'acme', apiKey: { variable: 'MILLRACE_ACME_API_KEY', sent: 'X-Key: Key ***' } },
      faults: [],
      answersFile: 'acme.answers.json',
      answers: [
        { name: 'a match', judged: [{ kind: 'match', record: { email: 'ada@example.com' } }], credits: 2 },
        { operation: 'verify' },
      ],
      calls: [],
    });
  });

  it('ends with 1 when an answer is not judged as expected', async () => {
    write('other.json', ANSWERS.replace('"kind":"match"', '"kind":"miss"'));
    const { code, stdout, stderr } = await folder.run([
      'provider',
      'check',
      'acme.yaml',
      '--answers',
      'other.json',
      '--operation',
      'enrich',
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('millrace: 0 of 1 recorded answers are judged as expected (other.json)');
    expect(stderr).toContain('a match: expected miss, got match: operations.enrich.answers.match is true');
    expect(parsed(stdout)).toMatchObject({ answers: [{ operation: 'enrich' }] });
  });

  it('ends with 78 and every fault with its line and key', async () => {
    write('bad.yaml', DEFINITION.replace('body.note', '"$now()"').replace('credits: "2"', 'credits: "2 +"'));
    const { code, stdout, stderr } = await folder.run(['provider', 'check', 'bad.yaml']);
    expect(code).toBe(78);
    expect(parsed(stdout)).toMatchObject({
      definition: null,
      faults: [
        { file: 'bad.yaml', line: 10, key: 'operations.enrich.record.note', code: 'bad_mapping' },
        { file: 'bad.yaml', line: 11, key: 'operations.enrich.credits', code: 'bad_mapping' },
      ],
    });
    expect(stderr.match(/^millrace: /gm)).toHaveLength(2);
  });

  it('finds a definition that ships by its name', async () => {
    const { code, stdout } = await folder.run(['provider', 'check', 'millrace']);
    expect(code).toBe(0);
    expect(parsed(stdout)).toMatchObject({ definition: { name: 'millrace', baseUrl: null }, answers: [] });
  });
});

describe('provider check --call', () => {
  let asked: string[];
  let url: string;
  beforeEach(async () => {
    asked = [];
    write('live.yaml', DEFINITION);
    url = await serve((request, reply) => {
      const key = String(request.headers['x-key']);
      asked.push(`${request.method} ${request.url} ${key}`);
      if (request.url?.includes('down')) return answer(reply, { status: 503, body: '{}' });
      if (request.url?.includes('huge')) return answer(reply, { status: 200, body: `"${'x'.repeat(17 * 1024 * 1024)}"` });
      const note = `${key} ${KEY.replaceAll('/', '\\/')}`;
      return answer(reply, {
        status: 200,
        headers: { 'x-echo': KEY },
        body: `{"email": "ada@example.com", "note": "${note.replaceAll('"', '')}"}`,
      });
    });
  });

  const call = (...words: string[]): ReturnType<Folder['run']> =>
    folder.run(['provider', 'check', 'live.yaml', '--base-url', url, ...words], { env: ENV });

  it('makes one call for each key, and says before what it may cost', async () => {
    write('live.answers.json', ANSWERS);
    const { code, stdout, stderr } = await call('--call', 'ada@example.com', 'example.com');
    expect(parsed(stdout)).toMatchObject({ answersFile: null, answers: [] });
    expect(code).toBe(0);
    expect(asked).toEqual([`GET /people?email=ada%40example.com Key ${KEY}`, `GET /people?domain=example.com Key ${KEY}`]);
    expect(stderr).toContain(`millrace: asks Acme Data at ${url} now: 2 calls of enrich, at most 4 credits by the definition\n`);
    expect(parsed(stdout)).toMatchObject({ calls: [{ judged: [{ kind: 'match' }], credits: 2 }, { request: { method: 'GET' } }] });
  });

  it('masks the API key in the request and wherever the vendor echoes it', async () => {
    const { stdout, stderr } = await call('--call', 'ada@example.com');
    expect(parsed(stdout)).toMatchObject({
      calls: [
        {
          request: { headers: { 'x-key': 'Key ***' } },
          answer: { headers: { 'x-echo': '***' }, body: { note: 'Key *** ***' } },
          judged: [{ record: { note: 'Key *** ***' } }],
        },
      ],
    });
    expect(stdout + stderr).not.toContain(KEY);
    expect(stdout + stderr).not.toContain(encodeURIComponent(KEY));
  });

  it('asks the operation that is named, and reads the key from a file', async () => {
    write('key', `${KEY}\n`);
    const words = ['provider', 'check', 'live.yaml', '--base-url', url, '--operation', 'verify', '--call', 'ada@example.com'];
    const { code } = await folder.run(words, { env: { MILLRACE_ACME_API_KEY_FILE: folder.at('key') } });
    // The answer has no verdict.
    expect(code).toBe(1);
    expect(asked).toEqual([`GET /verify?email=ada%40example.com Key ${KEY}`]);
  });

  it('ends with 1 when the vendor fails, sends too much or is not there, and asks once', async () => {
    const down = await call('--call', 'down@example.com');
    expect([down.code, asked.length]).toEqual([1, 1]);
    expect(parsed(down.stdout)).toMatchObject({ calls: [{ answer: { status: 503 }, judged: [{ kind: 'retry' }] }] });
    const huge = await call('--call', 'huge@example.com');
    expect(parsed(huge.stdout)).toMatchObject({ calls: [{ judged: [{ kind: 'retry', why: expect.stringContaining('larger than') }] }] });
    const gone = await folder.run(['provider', 'check', 'live.yaml', '--call', 'a@example.com'], { env: ENV });
    expect(gone.code).toBe(1);
    expect(parsed(gone.stdout)).toMatchObject({ calls: [{ answer: { status: 0, body: null }, judged: [{ kind: 'retry' }] }] });
    expect(gone.stderr).toContain('millrace: 1 of 1 calls brought no result');
  });

  it('needs an API key', async () => {
    const { code, stderr } = await folder.run(['provider', 'check', 'live.yaml', '--call', 'a@example.com']);
    expect([code, stderr]).toEqual([78, expect.stringContaining('There is no API key for the provider acme')]);
    expect(stderr).toContain('Set MILLRACE_ACME_API_KEY, or MILLRACE_ACME_API_KEY_FILE');
    expect(asked).toEqual([]);
  });

  it('sends nothing when one of the keys is wrong', async () => {
    const { code, stderr } = await call('--call', 'ada@example.com', 'nonsense');
    expect([code, stderr, asked]).toEqual([64, expect.stringContaining('"nonsense" is no key to look up'), []]);
  });
});

describe('provider new', () => {
  const DOCUMENT = JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Acme' },
    servers: [{ url: 'https://api.acme.example' }],
    paths: {
      '/people/enrich': {
        get: {
          parameters: [
            { name: 'email', in: 'query' },
            { name: 'api_key', in: 'query' },
          ],
          responses: {},
        },
      },
    },
  });

  it('prints a definition that passes the check, from a file and from standard input', async () => {
    write('openapi.json', DOCUMENT);
    const fromFile = await folder.run(['provider', 'new', 'openapi.json']);
    const fromStdin = await folder.run(['provider', 'new', '-'], { stdin: DOCUMENT });
    expect([fromFile.code, fromStdin.code]).toEqual([0, 0]);
    expect(fromStdin.stdout).toBe(fromFile.stdout.replace('openapi.json', 'an OpenAPI document'));
    expect(fromFile.stderr).toContain('millrace: to fill in: operations.enrich.record.email: the document shows no field for it\n');
    write('begun.yaml', fromFile.stdout);
    expect((await folder.run(['provider', 'check', 'begun.yaml'])).code).toBe(0);
  });

  it('writes a file, and never over one that is there', async () => {
    const words = ['provider', 'new', '--name', 'acme-2', '--output', 'acme-2.yaml'];
    expect(await folder.run(words)).toMatchObject({ code: 0, stdout: 'acme-2.yaml\n' });
    write('acme-2.yaml', 'mine');
    expect(await folder.run(words)).toMatchObject({ code: 65, stderr: expect.stringContaining('is there already, and was left as it is') });
    expect(await folder.read('acme-2.yaml')).toBe('mine');
    expect((await folder.run([...words.slice(0, 5), 'nowhere/x.yaml'])).code).toBe(74);
  });

  it('takes the paths that are named', async () => {
    write('openapi.json', DOCUMENT);
    expect((await folder.run(['provider', 'new', 'openapi.json', '--path', '/people/enrich', '--name', 'me'])).stdout).toContain(
      '\nname: me\n',
    );
    const wrong = await folder.run(['provider', 'new', 'openapi.json', '--path', '/people/enirch']);
    expect([wrong.code, wrong.stderr]).toEqual([78, expect.stringContaining('did you mean /people/enrich?')]);
  });
});

const REFUSALS: readonly (readonly [words: readonly string[], code: number, message: RegExp])[] = [
  [['provider'], 64, /needs to know what to do: check or new/],
  [['provider', 'chek'], 64, /no command "provider chek"; did you mean check\?/],
  [['provider', 'check'], 64, /needs a definition/],
  [['provider', 'check', 'huntr'], 78, /no provider definition "huntr".*did you mean hunter\?/],
  [['provider', 'check', 'hunter', '--anwers', 'x'], 64, /no flag --anwers; did you mean --answers\?/],
  [['provider', 'check', 'hunter', '--answers', 'nowhere.json'], 78, /no file of recorded answers "nowhere.json"/],
  [['provider', 'check', 'hunter', '--operation', 'enrch'], 64, /did you mean enrich\?/],
  [['provider', 'check', 'millrace', '--base-url', 'ftp://x'], 78, /expected http or https/],
  [['provider', 'check', 'hunter', 'a@example.com'], 64, /one argument too many: "a@example.com"/],
  [['provider', 'check', 'hunter', '--call'], 64, /--call needs to know what to look up/],
  [['provider', 'check', 'hunter', '--call', ...Array.from({ length: 21 }, (_, index) => `a${index}@example.com`)], 64, /20 calls at most/],
  [['provider', 'check', 'millrace', '--call', 'a@example.com'], 64, /has no baseUrl/],
  [['provider', 'new'], 64, /needs an OpenAPI document, or a name/],
  [['provider', 'new', 'nowhere.yaml'], 78, /no OpenAPI document "nowhere.yaml"/],
  [['provider', 'new', 'https://acme.example/openapi.json'], 64, /reads a file, and no address/],
  [['provider', 'new', '--name', 'Acme Data'], 64, /--name must be lower-case letters/],
  [['provider', 'new', '--name', 'acme', '--path', '/x'], 64, /--path goes with an OpenAPI document/],
  [['provider', 'new', '--name', 'acme', '--answers', 'x'], 64, /no flag --answers/],
  [['provider', 'new', 'a', 'b'], 64, /one argument too many: "b"/],
];

it.each(REFUSALS)('millrace %j is refused with %i', async (words, code, message) => {
  const found = await folder.run(words);
  expect(found.stderr).toMatch(message);
  expect(found).toMatchObject({ code, stdout: '' });
});
