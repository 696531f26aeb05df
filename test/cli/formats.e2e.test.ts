/** Every input format and every output format, through the real command. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { flags, makeFolder, makeWorld } from '../support/world.ts';

const PEOPLE = fileURLToPath(new URL('../../fixtures/formats/', import.meta.url));

function parse(line: string | undefined): Record<string, Record<string, unknown>> {
  return JSON.parse(line ?? '') as Record<string, Record<string, unknown>>;
}

test('JSONL to CSV has columns in order of first occurrence, nested values as JSON, and unreadable lines in their place', async () => {
  const { folder, args } = await makeWorld();
  await writeFile(
    folder.at('in.jsonl'),
    '{"email":"ana@works1.example","tags":["a","b"]}\nnot json\n{"age":3,"email":"bo@works1.example"}\n',
  );
  expect((await folder.run(args({ input: 'in.jsonl', steps: 'verify' }))).code).toBe(0);
  const lines = (await folder.read('out.csv')).split('\n');
  expect(lines[0]).toMatch(/^email,tags,age,result\.outcome,/);
  expect(lines[1]).toMatch(/^ana@works1\.example,"\[""a"",""b""\]",,matched,/);
  expect(lines[2]).toMatch(/^not json,,,invalid,bad_row,/);
  expect(lines[3]).toMatch(/^bo@works1\.example,,3,matched,/);
});

test('CSV to JSONL has the input as an object of strings, and the complete records', async () => {
  const { folder, args } = await makeWorld('email,Größe,n\nana@works1.example,"a ""b""",007\nmiss@works1.example,,\nnobody,x,y\n');
  expect((await folder.run(args({ output: 'out.jsonl' }))).code).toBe(0);
  const [ana, miss, nobody, end] = (await folder.read('out.jsonl')).split('\n');
  expect(parse(ana)).toEqual({
    input: { email: 'ana@works1.example', Größe: 'a "b"', n: '007' },
    result: { outcome: 'matched' },
    enrich: expect.objectContaining({ email: 'ana@works1.example', company: expect.objectContaining({ stack: ['Linux', 'Postgres'] }) }),
    verify: expect.objectContaining({ email: 'ana@works1.example' }),
  });
  expect(parse(miss)).toMatchObject({ result: { outcome: 'no_match' }, enrich: null, verify: { email: 'miss@works1.example' } });
  expect(parse(nobody)).toEqual({
    input: { email: 'nobody', Größe: 'x', n: 'y' },
    result: { outcome: 'invalid', error: 'bad_email' },
    enrich: null,
    verify: null,
  });
  expect(end).toBe('');
});

test('JSONL to JSONL keeps each input object verbatim', async () => {
  const { folder, args } = await makeWorld();
  const objects = ['{"email": "ana@works1.example",  "big": 12345678901234567890}', '{"e":"\\u00e9","email":"bo@works1.example"}'];
  await writeFile(folder.at('in.ndjson'), `${objects.join('\r\n')}\n`);
  expect((await folder.run(args({ input: 'in.ndjson', output: 'out.ndjson', steps: 'enrich' }))).code).toBe(0);
  const lines = (await folder.read('out.ndjson')).trimEnd().split('\n');
  expect(lines.map((line) => line.slice(0, line.indexOf(',"result"')))).toEqual(objects.map((object) => `{"input":${object}`));
});

test('every fixture gives the same people in every output format, encoding, delimiter and compression', async () => {
  const { folder, args } = await makeWorld();
  const found = new Set<string>();
  for (const [i, name] of [
    'people.csv',
    'people.tsv',
    'people.csv.gz',
    'people-semicolon.csv',
    'people-pipe.csv',
    'people-utf16.csv',
  ].entries()) {
    const output = ['a.csv', 'b.tsv', 'c.csv.gz', 'd.csv.zst', 'e.tsv.gz', 'f.csv'][i] ?? '';
    expect([name, await folder.run(args({ input: PEOPLE + name, output }))]).toEqual([name, expect.objectContaining({ code: 0 })]);
    const bytes = await readFile(folder.at(output));
    const text = (output.endsWith('.gz') ? gunzipSync(bytes) : output.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString();
    // Delimiter and byte order mark are the input's.
    found.add((text.split('\n')[0] ?? '').replace('\ufeff', '').replaceAll(/[;|\t]/g, ','));
    const { records } = await folder.json(`${output}.report.json`);
    found.add(JSON.stringify(records));
  }
  // All outputs have one header and the same count of outcomes.
  expect([...found]).toHaveLength(2);
});

test('files with different headers give the union of their columns, in the order of the files', async () => {
  const { folder, args } = await makeWorld();
  await mkdir(folder.at('in'));
  await writeFile(folder.at('in', 'b.csv'), 'City,E-Mail\nOslo,bo@works1.example\n');
  await writeFile(folder.at('in', 'a.csv'), 'E-Mail,Name\nana@works1.example,Ana\n');
  await writeFile(folder.at('in', 'notes.txt'), 'not for us');
  for (const [input, output] of [
    ['in', 'folder.csv'],
    ['in/*.csv', 'glob.csv'],
    ['in/{a,b}.csv', 'braces.csv'],
  ] as const) {
    expect((await folder.run(args({ input, output, steps: 'verify' }))).code).toBe(0);
    expect((await folder.read(output)).replaceAll(/,matched.*|,result.*/g, '')).toBe(
      'E-Mail,Name,City\nana@works1.example,Ana,\nbo@works1.example,,Oslo\n',
    );
  }
  await writeFile(folder.at('list.yaml'), `input: {uri: [in/b.csv, in/a.csv]}\noutput: {uri: list.csv}\nsteps: [verify]\n`);
  const { 'base-url': url, ...rest } = { 'base-url': args()[args().indexOf('--base-url') + 1] ?? '', plan: 'enterprise', progress: 'none' };
  expect((await folder.run(['run', 'list.yaml', ...flags({ 'base-url': url, ...rest })])).code).toBe(0);
  expect(await folder.read('list.csv')).toMatch(/^City,E-Mail,Name,.*\nOslo,bo/);
});

test('a job whose output is in its input folder never reads its own files', async () => {
  const { folder, service, args } = await makeWorld();
  await mkdir(folder.at('data'));
  await writeFile(folder.at('data', 'a.csv'), 'email\nana@works1.example\nrefused@works1.example\n');
  for (const [input, output] of [
    ['data', 'data/out.csv'],
    ['data/*', 'data/out.csv'],
  ] as const) {
    const more = { input, output, 'max-errors': '100%', fresh: input !== 'data', name: input === 'data' ? 'one' : 'one' };
    expect((await folder.run(args(more))).code).toBe(0);
    service.forget();
    expect((await folder.run(args({ ...more, fresh: false }))).code).toBe(0);
    expect(service.requests).toEqual([]);
    expect((await folder.json('data/out.csv.report.json'))['records']).toMatchObject({ total: 2 });
  }
});

test('configured columns replace the standard ones, and formulas are escaped', async () => {
  const { folder, args } = await makeWorld('email,note\nana@works1.example,=1+1\n');
  await writeFile(
    folder.at('job.yaml'),
    'output: {fields: {Firm: enrich.company.name, Who: enrich.name, Out: result.outcome}, escapeFormulas: true}\n',
  );
  const [, ...rest] = args({ steps: 'enrich' });
  expect((await folder.run(['run', 'job.yaml', ...rest])).code).toBe(0);
  expect(await folder.read('out.csv')).toMatch(
    /^email,note,Firm,Who,Out\nana@works1\.example,'=1\+1,Company \d+,Name of ana@works1\.example,matched\n$/,
  );
});

test('the sample job needs no account and prints the path of its result', async () => {
  const folder = await makeFolder();
  const input = fileURLToPath(new URL('../../fixtures/leads.csv', import.meta.url));
  const ended = await folder.run(['run', 'sample', '--input', input, '--output', 'out.csv', '--plan', 'enterprise', '--progress', 'bar'], {
    env: { MILLRACE_API_KEY: '' },
  });
  expect(ended.code).toBe(0);
  expect(ended.stderr).toMatch(/records +2,500/);
  expect(ended.stderr).toMatch(
    new RegExp(
      String.raw`Result: out\.csv\nReport: out\.csv\.report\.html \(\.report\.json for programs\)\n` +
        String.raw`Errors: out\.csv\.errors\.jsonl\n\n.*result\.outcome?`,
    ),
  );
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 2_500, failed: 0 });
});
