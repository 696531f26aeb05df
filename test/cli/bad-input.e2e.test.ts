/** Bad input: each kind has its own message and exit code, and good rows beside bad ones are never lost. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { SEED } from '../support/seed.ts';

const fixture = (name: string): Promise<Buffer> => readFile(fileURLToPath(new URL(`../../fixtures/formats/${name}`, import.meta.url)));
const REFUSED = ['array.json', 'array.jsonl', 'words.jsonl', 'people.csv'];
const GOOD = 'email,name\nana@works1.example,Ana\nbo@works1.example,Bo\n';

describe(`an unusable input (SEED=${SEED})`, () => {
  const cases: readonly [string, () => string | Buffer | Promise<Buffer>, RegExp][] = [
    ['binary', () => fixture('binary.csv'), /in\.csv/],
    [
      'in another encoding',
      () => Buffer.concat([Buffer.from('email,name\nana@works1.example,'), Buffer.from([0xe9, 0x0a])]),
      /in\.csv .*(?:UTF-8|utf-8)/,
    ],
    ['no usable column', () => 'colour,size\nred,4\n', /in\.csv.*[\s\S]*colour[\s\S]*--input\.columns\.email/],
    ['duplicate headers', () => 'email,name,email\na@b.example,x,c@d.example\n', /in\.csv.*twice|"email"/],
    ['a reserved column', () => 'email,enrich.email\na@b.example,x\n', /enrich\.email/],
    ['an unclosed quote in the header', () => 'email,"name\na@b.example,x\n', /header of in\.csv \(line 1\)[\s\S]*quote/],
  ];

  test('ends the run with 65 before any write or call, and the message names the fault', async () => {
    const { folder, service, args } = await makeWorld();
    const said = new Set<string>();
    const tried = sampleOf(cases, 3);
    for (const [name, content, words] of tried) {
      await writeFile(folder.at('in.csv'), await content());
      const { code, stderr } = await folder.run(args());
      expect([name, code]).toEqual([name, 65]);
      expect(stderr).toMatch(words);
      expect(stderr).not.toContain('bug');
      said.add(stderr);
    }
    expect(said.size).toBe(tried.length);
    expect(await folder.files()).toEqual(['in.csv']);
    expect(service.requests).toEqual([]);
  });

  test.each(
    sampleOf(
      [
        ['missing', 'nothing-here.csv', /There is no input nothing-here\.csv/],
        ['a misspelt name', 'i.csv', /There is no input i\.csv; did you mean in\.csv\?/],
        ['a misspelt name in a folder', './peopel.csv', /There is no input \.\/peopel\.csv; did you mean \.\/people\.csv\?/],
        ['a glob without a match', 'no-*.csv', /Nothing matches the input no-\*\.csv/],
        ['an empty folder', 'empty', /Nothing matches the input empty/],
        ['a JSON array', 'array.json', /array\.json is one JSON array/],
        ['a JSON array under another name', 'array.jsonl', /array\.jsonl is one JSON array/],
        ['no JSON at all', 'words.jsonl', /No line of words\.jsonl is a JSON object/],
        ['no column for the first step', 'people.csv', /no column of email or domain for the step enrich: it has "linkedin_url"/],
        ['a path below a file', 'in.csv/x.csv', /There is no input in\.csv\/x\.csv/],
      ] as const,
      3,
    ),
  )('ends the run with 65: %s', async (_, input, words) => {
    const { folder, args } = await makeWorld(GOOD);
    await mkdir(folder.at('empty'));
    for (const name of ['array.json', 'array.jsonl']) await writeFile(folder.at(name), '[\n {"email":"a@b.example"}]');
    await writeFile(folder.at('words.jsonl'), 'no\nJSON\n');
    await writeFile(folder.at('people.csv'), 'linkedin_url\nhttps://linkedin.example/in/ana\n');
    expect(await folder.run(args({ input }))).toMatchObject({ code: 65, stderr: expect.stringMatching(words) });
    expect(await folder.run(args({ input, 'input.ifMissing': 'succeed' }))).toMatchObject({ code: REFUSED.includes(input) ? 65 : 0 });
  });
});

test.each(
  sampleOf(
    [
      ['empty', ''],
      ['header-only', 'email,name\n'],
      ['only a byte order mark', '\uFEFF'],
      ['only blank lines', '\n\n\n'],
    ] as const,
    2,
  ),
)('an input that is %s gives an output without rows, and exit code 0', async (_, content) => {
  const { folder, service, args } = await makeWorld(content);
  expect(await folder.run(args())).toMatchObject({ code: 0, stderr: '' });
  const text = await folder.read('out.csv');
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  expect(text).toContain('result.outcome');
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 0 });
  expect(service.requests).toEqual([]);
});

test('an error page in the place of the input is 65, and leaves the last output as it is', async () => {
  const { folder, args } = await makeWorld('email\na1@works.example\n');
  expect(await folder.run(args())).toMatchObject({ code: 0 });
  const [output, report] = [await folder.read('out.csv'), await folder.read('out.csv.report.json')];
  for (const page of ['<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', 'Access denied', '<!DOCTYPE html>\n<p>403</p>\n']) {
    await writeFile(folder.at('in.csv'), page);
    for (const more of [[], ['--fresh']])
      expect(await folder.run([...args(), ...more])).toMatchObject({
        code: 65,
        stderr: expect.stringMatching(/no table|none is an email/),
      });
    expect([await folder.read('out.csv'), await folder.read('out.csv.report.json')]).toEqual([output, report]);
  }
});

test('a truncated archive is 65 and keeps the rows before the cut; complete and with --fresh, each lookup is paid once', async () => {
  const { folder, service, args } = await makeWorld();
  const rows = Array.from(
    { length: 20_000 },
    (_, i) => `person${i % 500}@works1.example,${createHash('sha256').update(`${i}`).digest('base64')}\n`,
  );
  const archive = gzipSync(`email,note\n${rows.join('')}`);
  await writeFile(folder.at('in.csv.gz'), archive.subarray(0, archive.length - 2_000));
  const more = { input: 'in.csv.gz', steps: 'enrich' };
  const cut = await folder.run(args(more));
  expect(cut).toMatchObject({ code: 65, stderr: expect.stringMatching(/in\.csv\.gz is cut off/) });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  await writeFile(folder.at('in.csv.gz'), archive);
  expect(await folder.run(args(more))).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/in\.csv\.gz had \d+ bytes and has \d+ now/),
  });
  expect((await folder.run(args({ ...more, fresh: true }))).code).toBe(0);
  expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 20_000 });
});

test('a quote that stays open for 8 MB makes one bad row, and every other row is good', async () => {
  const { folder, args } = await makeWorld();
  const rows = 120_000;
  const filler = 'x'.repeat(40);
  const lines = Array.from({ length: rows }, (_, i) =>
    i === 60_000 ? `"open@works1.example,${filler}` : `person${i % 40}@works1.example,${filler}${i}`,
  );
  await writeFile(folder.at('in.csv'), `email,note\n${lines.join('\n')}\n`);
  expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 0 });
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: rows, invalid: 1, matched: rows - 1, failed: 0 });
  expect(
    (await folder.read('out.csv.errors.jsonl'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([expect.objectContaining({ file: 'in.csv', line: 60_002, code: 'bad_row', raw: lines[60_000] })]);
});

test('a line over 4 MiB is invalid and keeps the cells that fit, and the run names the line', async () => {
  const { folder, service, args } = await makeWorld(
    `email,name,note\nana@works1.example,Ana,${'x'.repeat(5_000_000)}\nbo@works1.example,Bo,\n`,
  );
  const { code, stderr } = await folder.run(args({ progress: 'log', steps: 'enrich', 'output.fields.Error': 'result.error' }));
  expect(code).toBe(0);
  expect(stderr).toContain('in.csv, line 2, is longer than 4 MiB');
  expect(await folder.read('out.csv')).toBe('email,name,note,Error\nana@works1.example,Ana,,bad_row\nbo@works1.example,Bo,,\n');
  expect([...service.asked.keys()]).toEqual(['enrich bo@works1.example']);
});

test('a cleaned address is asked for once, named in its row and counted by plan, and the input columns stay unchanged', async () => {
  const cells = [
    'ana@works1.example',
    'mailto:ana@works1.example',
    '"Ana <ana@works1.example>"',
    'ana@works1.example;',
    'ana\uff20works1.example',
    '\u200bana@works1.example\u00a0',
    'ana smith@works1.example',
  ];
  const { folder, service, args } = await makeWorld(`email\n${cells.join('\n')}\n`);
  const { code, stderr } = await folder.run(args({ progress: 'log', output: 'out.jsonl' }));
  expect(code).toBe(0);
  expect(stderr.split('\n').filter((line) => line.includes('verify.did_you_mean'))).toHaveLength(1);
  expect(stderr).toContain('in.csv, line 3, has more than an address');
  const rows = (await folder.read('out.jsonl'))
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row) as { input: { email: string }; result: { outcome: string; did_you_mean?: string } });
  expect(rows.map(({ input }) => input.email)).toEqual(cells.map((cell) => cell.replaceAll('"', '')));
  expect(rows.map(({ result }) => result.outcome)).toEqual([...Array<string>(6).fill('matched'), 'invalid']);
  expect(rows.map(({ result }) => result.did_you_mean ?? null)).toEqual([null, ...Array<string>(5).fill('ana@works1.example'), null]);
  expect([...service.asked]).toEqual([
    ['enrich ana@works1.example', 1],
    ['verify ana@works1.example', 1],
  ]);
  const planned = await folder.run(args({ fresh: true, json: true, output: 'out.jsonl' }).map((arg) => (arg === 'run' ? 'plan' : arg)));
  expect(JSON.parse(planned.stdout)).toMatchObject({ records: 7, invalid: 1, cleaned: 5, lookups: { unique: 2 } });
});

test('bad rows among good ones stay in input order', async () => {
  const input =
    'email,name\nana@works1.example,Ana\n\nbo@works1.example,Bo,too,many\n' +
    ',nobody\nnot an address,X\n"cy@works1.example","C"y\nshort@works1.example\n' +
    '\u0000\u0000,nul\nzoe@works1.example,Zoë\n';
  const { folder, args } = await makeWorld(input);
  expect((await folder.run(args({ steps: 'enrich' }))).code).toBe(0);
  const { records } = (await folder.json('out.csv.report.json')) as { records: Record<string, number> };
  expect(records).toEqual({ total: 8, matched: 5, no_match: 0, invalid: 3, suppressed: 0, failed: 0 });
  const errors = (await folder.read('out.csv.errors.jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: number; code: string });
  expect(errors.map(({ line, code }) => [line, code])).toEqual([
    [5, 'no_key'],
    [6, 'bad_email'],
    [9, 'bad_email'],
  ]);
});

test(`a file or folder in the way of the job gives a message and an exit code, never a stack (SEED=${SEED})`, async () => {
  const { folder, args } = await makeWorld(GOOD);
  await mkdir(folder.at('taken.csv'));
  await mkdir(folder.at('ck'));
  await mkdir(folder.at('lg'));
  await writeFile(folder.at('file'), '');
  for (const [more, code] of sampleOf(
    [
      [{ output: 'taken.csv' }, 65],
      [{ output: 'file/out.csv' }, 74],
      [{ checkpoint: 'ck' }, 74],
      [{ checkpoint: 'file/ck.json' }, 74],
      [{ ledger: 'lg' }, 74],
      [{ ledger: 'in.csv/lg' }, 74],
      [{ scratch: 'file' }, 0],
      [{ input: '-', scratch: 'file' }, 74],
    ] as const,
    4,
  )) {
    const ended = await folder.run(args({ ...more, ...('output' in more ? {} : { output: `o${JSON.stringify(more).length}.csv` }) }), {
      stdin: GOOD,
    });
    expect([more, ended.code, ended.stderr]).toEqual([more, code, code === 0 ? '' : expect.stringMatching(/^millrace: (?!this is a bug)/)]);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  }
});
