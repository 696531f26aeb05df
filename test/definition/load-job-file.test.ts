import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fc from '../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MillraceError } from '../../src/util/errors.ts';
import { compileJob, loadJobFile } from '../../src/definition/compile-job.ts';
import { JOB_FILE } from '../../src/definition/load-job-file.ts';
import { parseDocument } from '../../src/documents/parse-document.ts';
import { MAX_DOCUMENT_BYTES } from '../../src/documents/read-document.ts';
import { casesOf } from '../support/sample.ts';
import { refusalOf } from './support.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-jobs-'));
  await mkdir(join(folder, 'sub.yaml'));
  await writeFile(join(folder, 'nightly.v2.yaml'), 'input: {uri: a.csv}\noutput:\n  uri: b.csv\n  formt: csv\n');
  await writeFile(join(folder, 'job.json'), '{\n\t"name": "from json",\n\t"steps": [\n\t"enrich"]\n}');
  await writeFile(join(folder, 'large.yaml'), '#'.repeat(MAX_DOCUMENT_BYTES + 1));
  await writeFile(join(folder, 'latin1.yaml'), Buffer.from([0x6e, 0x3a, 0x20, 0xe9]));
});
afterAll(() => rm(folder, { recursive: true }));

const failure = async (work: Promise<unknown>): Promise<MillraceError> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof MillraceError) return error;
  throw new Error(`not refused in words: ${String(error)}`);
};

test('a job read by path has a name, a value, and the line of each key', async () => {
  const file = await loadJobFile(join(folder, 'nightly.v2.yaml'));
  expect(file).toMatchObject({ name: 'nightly.v2', value: { input: { uri: 'a.csv' } } });
  expect(refusalOf(() => compileJob({ file, env: {}, flags: new Map(), date: null, now: new Date('2026-01-01') })).message).toBe(
    `There is no key output.formt; did you mean output.format? (${file.path}, line 4)`,
  );
});

test("only the package's own jobs find their input in the package, not jobs of a folder whose name begins alike", async () => {
  const jobs = fileURLToPath(new URL('../../jobs', import.meta.url));
  const mine = await mkdtemp(`${jobs}-mine-`);
  try {
    // An absolute path is not in the package for the one job, and is for the other.
    await writeFile(join(mine, 'a.yaml'), 'input: {uri: /package.json}\n');
    for (const path of [join(mine, 'a.yaml'), `${jobs}/../${basename(mine)}/a.yaml`])
      expect((await loadJobFile(path)).value).toEqual({ input: { uri: '/package.json' } });
  } finally {
    await rm(mine, { recursive: true });
  }
});

test('a job may be JSON with tabs', async () => {
  expect(await loadJobFile(join(folder, 'job.json'))).toMatchObject({ name: 'job', value: { name: 'from json', steps: ['enrich'] } });
});

test('the sample job is found by name', async () => {
  const file = await loadJobFile('sample');
  const { job, warnings } = compileJob({ file, env: {}, flags: new Map(), date: null, now: new Date('2026-01-01') });
  expect(job).toMatchObject({
    name: 'sample',
    steps: ['enrich', 'verify'],
    providers: [{ embedded: true, windows: [{ limit: 1000, periodMs: 60_000 }] }],
    output: { uri: 'out/leads.enriched.csv' },
  });
  expect(warnings).toEqual([]);
});

test.each([
  ['nowhere/job.yaml', 'job_not_found', /no job file "nowhere\/job.yaml"/],
  ['smaple', 'job_not_found', /no job "smaple".*did you mean sample\?/],
  ['large.yaml', 'job_too_large', /larger than 1 MiB/],
  ['latin1.yaml', 'job_syntax', /not UTF-8/],
  ['sub.yaml', 'job_is_data', /is a folder, and not a job file$/],
])('%s: %s', async (ref, code, message) => {
  const error = await failure(loadJobFile(/^(?:nowhere|smaple)/.test(ref) ? ref : join(folder, ref)));
  expect(error).toMatchObject({ code, exitCode: 78 });
  expect(error.message).toMatch(message);
});

describe('data given as a job', () => {
  const ROWS = [
    ['Ana: Secretperson', 'ana.secret@works1.example'],
    ['*Bob, "Jr."', 'bob@works2.example'],
    ['{Cy}', '+44 20 7946 0000'],
  ];
  const SHAPES: Readonly<Record<string, string>> = {
    csv: `Name,Work Email\n${ROWS.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n')}\n`,
    tsv: `Name\tWork Email\n${ROWS.map((row) => row.join('\t')).join('\n')}\n`,
    plain: `${ROWS.map(([, email]) => email).join('\n')}\n`,
    // One object a line, a single line, and a list that is also YAML.
    jsonl: `${ROWS.map(([name, email]) => JSON.stringify({ person: name, address: email })).join('\n')}\n`,
    array: JSON.stringify(ROWS),
    dashes: ROWS.map(([, email]) => `- ${email}\n`).join(''),
    oneWord: 'ana.secret@works1.example',
  };

  test.each(['csv', 'tsv', 'dat', 'txt', 'yaml', 'json', 'jsonl', ''])(
    'with the extension "%s" is refused with a hint at --input, and without any of its cells',
    async (extension) => {
      for (const [shape, text] of Object.entries(SHAPES)) {
        const path = join(folder, `my ${shape}${extension === '' ? '' : `.${extension}`}`);
        await writeFile(path, text);
        const error = await failure(loadJobFile(path));
        expect([shape, error.code, error.exitCode]).toEqual([shape, 'job_is_data', 78]);
        expect(error.hint).toContain(`--input '${path}' --output `);
        for (const cell of ROWS.flat()) expect(`${error.message} ${error.hint}`).not.toContain(cell.slice(0, 8));
      }
    },
  );

  test.each([
    ['leads.csv', '--input leads.csv --output leads.enriched.csv'],
    ['in/leads.tsv.gz', '--input in/leads.tsv.gz --output in/leads.enriched.tsv.gz'],
    ['leads.gz', '--input leads.gz --output leads.enriched.csv'],
    ['s3://acme/leads/*.csv', "--input 's3://acme/leads/*.csv' --output enriched.csv"],
    ["Ana's leads.csv", String.raw`--input 'Ana'\''s leads.csv' --output 'Ana'\''s leads.enriched.csv'`],
  ])('the missing file %s is reported with the command to type', async (ref, words) => {
    expect(await failure(loadJobFile(ref))).toMatchObject({ code: 'job_not_found', hint: expect.stringContaining(words) });
  });

  test('archives and other binary files are refused, and a misspelt job still counts as a job', async () => {
    await writeFile(join(folder, 'a.gz'), Buffer.from([0x1f, 0x8b, 8]));
    await writeFile(join(folder, 'bytes'), Buffer.from([0x1f, 0x8b, 8, 0xff]));
    await writeFile(join(folder, 'typo.yaml'), 'inptu: {uri: a.csv}\n');
    await writeFile(join(folder, 'half.yaml'), 'input:\n  uri: *.csv\n');
    expect(await failure(loadJobFile(join(folder, 'a.gz')))).toMatchObject({ code: 'job_is_data' });
    expect((await failure(loadJobFile(join(folder, 'bytes')))).hint).toContain('--input');
    expect((await loadJobFile(join(folder, 'typo.yaml'))).value).toEqual({ inptu: { uri: 'a.csv' } });
    expect(await failure(loadJobFile(join(folder, 'half.yaml')))).toMatchObject({ code: 'job_syntax' });
  });
});

const BOMB = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...['b', 'c', 'd', 'e'].map((name, index) => `${name}: &${name} [${Array.from({ length: 10 }, () => `*${'abcd'[index]}`).join(',')}]`),
].join('\n');

describe('a file that cannot be parsed as YAML', () => {
  test.each([
    ['a: [1\nb: 2', /^x\.yaml, line 2: /],
    ['a: 1\nb:\n  c: 1\n  c: 2', /^x\.yaml, line 4: the key b\.c is given twice, first on line 3$/],
    ['a: [{b: 1, b: 2}]', /line 1: the key b is given twice/],
    ['a: 1\n---\nb: 2', /line 2: a second document begins here/],
    ['a: 1\n[x]: 2', /a key must be plain text/],
    ['output:\n  uri: {date}/x.csv', /^x\.yaml, line 2: /],
    ['a: !run x', /line 1: Unresolved tag/],
    ['['.repeat(1000), /line 1: brackets are nested more than 64 deep/],
    ['- '.repeat(100_000), /nested too deep/],
    [BOMB, /alias count/],
    ['b: 1\na: *.csv', /line 2: \*\.csv is an alias of nothing$/],
  ])('%j', (text, message) => {
    const error = refusalOf(() => parseDocument(text, 'x.yaml', JOB_FILE));
    expect(error).toMatchObject({ code: 'job_syntax', exitCode: 78 });
    expect(error.message).toMatch(message);
  });

  test('any text has a value or is refused with a message', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: fc.constantFrom('a', ':', ' ', '\n', '-', '[', ']', '{', '}', '&', '*', '!', '"', '|', '#', '?') }),
        ),
        (text) => {
          try {
            expect(parseDocument(text, 'x.yaml', JOB_FILE).lines).toBeInstanceOf(Map);
          } catch (error) {
            expect(error).toMatchObject({ code: 'job_syntax' });
          }
        },
      ),
      { numRuns: casesOf(250, 1000) },
    );
  });
});
