/** The same command once more: after it finished, after something changed, with another limit, from the beginning. */
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { requestsIn } from '../support/report-page.ts';
import { SAMPLE_SEED, sampleOf } from '../support/sample.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(260, 5);
const LENIENT = { 'max-errors': '100%' };

/** A world whose job has finished; the service has forgotten what it was asked. */
async function finished(more: Record<string, string> = {}): Promise<World & { readonly before: Buffer }> {
  const world = await makeWorld(toCsv(ROWS));
  expect(await world.folder.run(world.args({ ...LENIENT, ...more }))).toMatchObject({ code: 0 });
  world.service.forget();
  return { ...world, before: await readFile(world.folder.at(more['output'] ?? 'out.csv')) };
}

async function stopped(more: Record<string, string> = {}): Promise<World> {
  const world = await makeWorld(toCsv(ROWS));
  world.service.latencyMs = 5;
  const first = world.folder.start(world.args({ ...LENIENT, ...more }));
  await world.service.sees(100);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(75);
  world.service.forget();
  return world;
}

/** Output and errors of a run that nothing kept from its end, which several tests are held against. */
let uninterrupted: Promise<{ readonly output: Buffer; readonly errors: string }> | null = null;
function whole(): NonNullable<typeof uninterrupted> {
  uninterrupted ??= finished().then(async ({ folder, before }) => ({ output: before, errors: await errorsOf(folder) }));
  return uninterrupted;
}

async function errorsOf(folder: Folder): Promise<string> {
  return (await folder.read('out.csv.errors.jsonl')).replaceAll(/"req-\d+"/g, '""');
}

/** Names and bytes of what belongs to the job's result. */
async function files(folder: Folder): Promise<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const name of await folder.files()) if (!name.includes('.ledger')) kept[name] = await folder.read(name);
  return kept;
}

describe('a finished job', () => {
  test('knows what it has spent: a higher limit goes on at once, without headers too', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const pilot = args({ ...LENIENT, steps: 'enrich', limit: '20' }).flatMap((arg) => (arg === '--plan' ? ['--rpm'] : arg === 'enterprise' ? ['60000'] : [arg]));
    expect((await folder.run(pilot)).code).toBe(0);
    // A run that was killed would count as one that has spent all of it, and so wait for a minute: longer than this test may take.
    expect((await folder.run(pilot.map((arg) => (arg === '20' ? '120' : arg)))).code).toBe(0);
    expect(service.requests.length).toBeLessThanOrEqual(120);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 120 });
  });

  test.each([
    ['ends as it ended: 0', LENIENT, 0],
    ['ends as it ended: 1', { 'max-errors': '0' }, 1],
  ])('calls nothing, changes nothing, and %s', async (_, more, code) => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args(more))).code).toBe(code);
    const before = await files(folder);
    service.forget();
    const again = await folder.run(args({ ...more, progress: 'bar' }));
    expect(again.code).toBe(code);
    expect(again.stderr).toContain('This job had finished, and its input has not changed: nothing was called.');
    expect(service.requests).toEqual([]);
    expect(await files(folder)).toEqual(before);
  });

  test('whose input has changed: a new run replaces the output when it is whole, and pays for what is new', async () => {
    const { folder, service, args, before } = await finished({ 'ledger.maxAgeDays': '0' });
    await appendFile(folder.at('in.csv'), 'New,new-person@works1.example,,\n');
    service.script = () => undefined;
    const half = folder.start(args(LENIENT));
    await service.sees(1);
    expect(await readFile(folder.at('out.csv'))).toEqual(before);
    half.kill('SIGKILL');
    await half.ended;
    expect(await readFile(folder.at('out.csv'))).toEqual(before);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect((await folder.run(args(LENIENT))).code).toBe(0);
    const text = await folder.read('out.csv');
    expect(text.startsWith(before.toString())).toBe(true);
    expect(text.slice(before.toString().length)).toMatch(/^New,new-person@works1\.example,,,matched,/);
    // `failed` and `unknown` are asked again by a new run, and nothing else that is known.
    const asked = [...service.asked.keys()].filter((key) => !key.includes('refused') && !key.startsWith('verify'));
    expect(asked).toEqual(['enrich new-person@works1.example']);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: ROWS.length + 1 });
  });

  test('whose output was taken away: it is written again without a call, to the byte', async () => {
    for (const output of sampleOf(['out.csv', 'out.csv.gz'], 1)) {
      const { folder, service, args, before } = await finished({ output });
      const report = await folder.json(`${output}.report.json`);
      const errors = await folder.read(`${output}.errors.jsonl`);
      await rm(folder.at(output));
      expect(await folder.run(args({ ...LENIENT, output }))).toMatchObject({ code: 0 });
      expect(service.requests).toEqual([]);
      expect(await readFile(folder.at(output))).toEqual(before);
      expect(await folder.read(`${output}.errors.jsonl`)).toBe(errors);
      const { finishedAt: _, ...rest } = await folder.json(`${output}.report.json`);
      const { finishedAt: __, ...first } = report;
      expect(rest).toEqual(first);
    }
  });

  test('with --fresh: starts over, from the ledger', async () => {
    const { folder, service, args, before } = await finished();
    expect((await folder.run(args({ ...LENIENT, fresh: true }))).code).toBe(0);
    const asked = [...service.asked.keys()].filter((key) => key.startsWith('enrich') && !key.includes('refused'));
    expect(asked).toEqual([]);
    expect(await readFile(folder.at('out.csv'))).toEqual(before);
  });
});

describe(`a pilot (SAMPLE_SEED=${SAMPLE_SEED})`, () => {
  test.each(sampleOf(['out.csv', 'out.csv.gz', 'out.jsonl.zst'], 1))('to %s goes on with a higher limit: the bytes of a run without one, and each lookup paid once', async (output) => {
    const expected = await finished({ output });
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    for (const limit of ['100', '150', false] as const) {
      expect((await folder.run(args({ ...LENIENT, output, limit }))).code).toBe(0);
      if (limit === '100') {
        const bytes = await readFile(folder.at(output));
        if (output === 'out.csv.gz') expect(gunzipSync(bytes).toString().split('\n').filter((line) => /^(Näme|Again) \d/.test(line)).length).toBe(100);
        expect((await folder.json(`${output}.report.json`))['records']).toMatchObject({ total: 100 });
      }
    }
    expect(service.repeated).toBe(0);
    expect(await readFile(folder.at(output))).toEqual(expected.before);
    const [ours, whole] = [await folder.json(`${output}.report.json`), await expected.folder.json(`${output}.report.json`)];
    expect([ours['records'], ours['output'], ours['lookups']]).toEqual([whole['records'], whole['output'], whole['lookups']]);
    expect((ours['calls'] as { enrich: number }).enrich).toBe(service.calls.enrich);
  });

  test('may be stopped and killed while it goes on', async () => {
    const expected = await whole();
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args({ ...LENIENT, limit: '100' }))).code).toBe(0);
    service.latencyMs = 3;
    const more = folder.start(args(LENIENT));
    await service.sees(60);
    more.kill('SIGKILL');
    await more.ended;
    expect((await folder.run(args(LENIENT))).code).toBe(0);
    expect(await readFile(folder.at('out.csv'))).toEqual(expected.output);
  });

  test('whose errors file was taken away writes all its rows again, and pays for none', async () => {
    const expected = await whole();
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args({ ...LENIENT, limit: '100' }))).code).toBe(0);
    await rm(folder.at('out.csv.errors.jsonl'));
    expect(await folder.run(args({ ...LENIENT, progress: 'log' }))).toMatchObject({ code: 0, stderr: expect.stringContaining('out.csv.errors.jsonl is gone: all rows are written again, from the ledger') });
    expect(service.repeated).toBe(0);
    expect(await readFile(folder.at('out.csv'))).toEqual(expected.output);
    expect(await errorsOf(folder)).toBe(expected.errors);
  });

  test('does not go down, and does not go on in a file that somebody edited', async () => {
    const { folder, service, args } = await finished({ limit: '100' });
    const lower = await folder.run(args({ ...LENIENT, limit: '50' }));
    expect(lower).toMatchObject({ code: 78, stderr: expect.stringMatching(/limits\.limit was 100 and is now 50; it can only be raised/) });
    await writeFile(folder.at('out.csv'), 'edited by somebody\n');
    const edited = await folder.run(args({ ...LENIENT, limit: '200' }));
    expect(edited).toMatchObject({ code: 65, stderr: expect.stringMatching(/out\.csv is no longer as this job wrote it/) });
    expect(await folder.read('out.csv')).toBe('edited by somebody\n');
    await rename(folder.at('out.csv'), folder.at('mine.csv'));
    expect((await folder.run(args({ ...LENIENT, limit: '200' }))).code).toBe(0);
    expect(service.calls.enrich).toBeGreaterThan(0);
    expect(service.repeated).toBe(0);
  });
});

describe(`a stopped job (SAMPLE_SEED=${SAMPLE_SEED})`, () => {
  test('goes on with another rpm, plan, concurrency, timeout and limits, also when an earlier version began it', async () => {
    const { folder, args } = await stopped();
    const { totals: { series: _, ...totals }, mark: { tally: { errors: __, ...tally }, ...mark }, sha256: ___, ...checkpoint } = (await folder.json('out.csv.checkpoint.json')) as unknown as Checkpoint & { sha256: string };
    await writeFile(folder.at('out.csv.checkpoint.json'), JSON.stringify({ ...checkpoint, totals, mark: { ...mark, tally } }));
    const other = { plan: false, rpm: '100000', concurrency: '3', 'timeout-ms': '5000', 'max-calls': '100000', 'limits.maxWaitMs': '1000', 'limits.maxOutageMs': '1000', 'limits.trustMisses': true, progress: 'log', 'log-level': 'warn', 'max-errors': '99%' } as const;
    expect(await folder.run(args(other))).toMatchObject({ code: 0 });
    const page = await folder.read('out.csv.report.html');
    const { said, inTable } = requestsIn(page);
    const before = Object.values(totals.calls).reduce((sum, calls) => sum + calls, 0);
    expect(said - inTable).toBe(before);
    expect(page).toContain(`<p class="note">${before} of them are not below: an earlier version of Millrace sent them`);
  });

  test('does not go on with any other key changed, and names it', async () => {
    const { folder, service, args } = await stopped();
    await writeFile(folder.at('other.csv'), toCsv(ROWS));
    const before = await files(folder);
    for (const [more, words] of sampleOf([
      [{ steps: 'enrich' }, /steps was \["enrich","verify"\] and is now \["enrich"\]/],
      [{ 'verify.when': 'unverified' }, /verify\.when was "always" and is now "unverified"/],
      [{ 'output.escapeFormulas': true }, /output\.escapeFormulas was false and is now true/],
      [{ 'base-url': 'http://other.example' }, /service\.baseUrl was "http:.*" and is now "http:\/\/other\.example"/],
      [{ input: 'other.csv' }, /input\.uri was \[".*\/in\.csv"\] and is now \[".*\/other\.csv"\]/],
      [{ 'input.columns.email': 'Note' }, /input\.columns\.email was null and is now "Note"/],
    ] as const, 3)) {
      expect(await folder.run(args({ ...LENIENT, ...more }))).toMatchObject({ code: 78, stderr: expect.stringMatching(words) });
    }
    expect(await files(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('whose input changed: 65, untouched; put back, it resumes', async () => {
    const { folder, service, args } = await stopped();
    const original = await readFile(folder.at('in.csv'));
    const before = await files(folder);
    for (const [change, words] of [
      [() => appendFile(folder.at('in.csv'), 'x,x@works1.example,,\n'), /in\.csv had \d+ bytes and has \d+ now/],
      [() => writeFile(folder.at('in.csv'), original.toString().replace('Name,', 'NAME,')), /in\.csv has the same size but other content/],
      [() => rm(folder.at('in.csv')), /in\.csv is no longer there/],
    ] as const) {
      await change();
      expect(await folder.run(args(LENIENT))).toMatchObject({ code: 65, stderr: expect.stringMatching(words) });
    }
    expect(service.requests).toEqual([]);
    await writeFile(folder.at('in.csv'), original);
    expect(await files(folder)).toEqual(before);
    expect((await folder.run(args(LENIENT))).code).toBe(0);
  });

  test('whose unfinished output was cut or removed is written again from the ledger', async () => {
    for (const { spoil, says } of sampleOf([{ spoil: (path: string) => rm(path), says: 'is missing' }, { spoil: (path: string) => writeFile(path, 'cut'), says: 'was cut from outside: it has 3 bytes, and the checkpoint says' }], 1)) {
      const { folder, service, args } = await stopped({ steps: 'enrich', limit: '250' });
      const paid = (await folder.json('out.csv.checkpoint.json'))['totals'] as { calls: { enrich: number } };
      await spoil(folder.at('out.csv.partial'));
      const ended = await folder.run(args({ ...LENIENT, steps: 'enrich', limit: '250', progress: 'bar' }));
      expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(new RegExp(`out\\.csv\\.partial ${says}.*: its rows are written again, from the ledger`)) });
      expect(service.repeated).toBe(0);
      const report = await folder.json('out.csv.report.json');
      expect(report['calls']).toEqual({ enrich: paid.calls.enrich + service.calls.enrich });
      expect(report['records']).toMatchObject({ total: 250 });
    }
  });
});

describe('what is not this job\'s stays as it is', () => {
  test.each(sampleOf(['out.csv', 'out.csv.partial', 'out.csv.errors.jsonl', 'out.csv.errors.jsonl.partial', 'out.csv.report.json', 'out.csv.report.html'], 2))('%s', async (name) => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    await writeFile(folder.at(name), 'precious');
    const refused = await folder.run(args());
    expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining(`${name} exists, and there is no checkpoint`) });
    expect(await folder.run(args({ fresh: true }))).toMatchObject({ code: 65 });
    expect(await folder.files()).toEqual(['in.csv', name].sort());
    expect(await folder.read(name)).toBe('precious');
    expect(service.requests).toEqual([]);
  });

  test.each(sampleOf([
    ['another job', { name: 'other', output: 'other.csv' }, 65, /belongs to the job "out" with the output .*out\.csv/],
    ['this job under another name', { name: 'other' }, 78, /name was "out" and is now "other"/],
    ['another job to the same output, which would start over', { name: 'other', fresh: true }, 65, /out\.csv belongs to the job "out", and this one is called "other"/],
    ['this job with another output', { output: 'other.csv', name: 'out' }, 78, /output\.uri was .*out\.csv and is now .*other\.csv/],
  ] as const, 2))('the checkpoint of %s', async (_, more, code, words) => {
    const { folder, service, args } = await finished();
    const before = await files(folder);
    const refused = await folder.run(args({ ...LENIENT, checkpoint: 'out.csv.checkpoint.json', ...more }));
    expect(refused).toMatchObject({ code, stderr: expect.stringMatching(words) });
    expect(await files(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('the same places written otherwise are the same job, for run, status and plan alike', async () => {
    const { folder, service, args } = await finished();
    const before = await files(folder);
    const same = [{ output: './out.csv' }, { output: folder.at('out.csv'), input: folder.at('in.csv'), ledger: `${folder.path}/./out.csv.ledger` }, { input: './in.csv' }];
    for (const more of same) expect(await folder.run(args({ ...LENIENT, ...more }))).toMatchObject({ code: 0 });
    // Either takes what the run is given.
    const line = args({ ...LENIENT, output: './out.csv', concurrency: '4', progress: 'log', 'log-level': 'warn', monitor: '0', scratch: '.' }).slice(1);
    expect(JSON.parse((await folder.run(['plan', ...line, '--json'])).stdout)).toMatchObject({ start: 'finished', requests: { total: 0 } });
    expect(JSON.parse((await folder.run(['status', ...line, '--json', '--fresh', '--shard', '0/4'])).stdout)).toMatchObject({ state: 'finished' });
    expect(JSON.parse((await folder.run(['plan', ...line, '--json', '--fresh'])).stdout)).toMatchObject({ start: 'new', records: ROWS.length });
    expect(await files(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('what stands at another output, when the job starts over there', async () => {
    const { folder, args } = await finished();
    await writeFile(folder.at('other.csv'), 'precious');
    const refused = await folder.run(args({ ...LENIENT, checkpoint: 'out.csv.checkpoint.json', name: 'out', output: 'other.csv', fresh: true }));
    expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining('other.csv exists') });
    expect(await folder.read('other.csv')).toBe('precious');
  });

  test('the temporary files of a job that writes to the same output with another checkpoint', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const held: (() => void)[] = [];
    service.script = (_asked, _response, reply, usual) => void held.push(() => reply(usual()));
    const first = folder.start(args(LENIENT));
    await service.sees(1);
    const inHand = 'out.csv.report.json.0badcafe.tmp';
    await writeFile(folder.at(inHand), 'about to be put in place');
    const second = await folder.run(args({ ...LENIENT, name: 'second', checkpoint: 'second.json' }));
    expect(second).toMatchObject({ code: 65, stderr: expect.stringContaining('out.csv.partial exists') });
    expect(await folder.read(inHand)).toBe('about to be put in place');
    service.script = (_asked, _response, reply, usual) => reply(usual());
    for (const answer of held) answer();
    expect((await first.ended).code).toBe(0);
  });

  test('a checkpoint that is none', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 5)));
    const words = { code: 65, stderr: expect.stringMatching(/out\.csv\.checkpoint\.json is (not a checkpoint of Millrace|damaged)/) };
    for (const text of sampleOf(['', '{"version":1', '{"version":2,"job":"out"}', '\0\0\0\0'], 2)) {
      await writeFile(folder.at('out.csv.checkpoint.json'), text);
      expect(await folder.run(args())).toMatchObject(words);
      expect(await folder.read('out.csv.checkpoint.json')).toBe(text);
    }
    for (const command of ['plan', 'status']) expect(await folder.run([command, '--input', 'in.csv', '--output', 'out.csv', '--embedded'])).toMatchObject(words);
  });
});

describe('{date}', () => {
  const nightly = { input: 'in-{date}.csv' };

  test('in the output: the next day is a new job', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 20)));
    for (const date of ['2026-01-01', '2026-01-02']) expect((await folder.run(args({ ...LENIENT, output: 'out-{date}.csv', name: 'nightly', date }))).code).toBe(0);
    expect(await folder.read('out-2026-01-01.csv')).toBe(await folder.read('out-2026-01-02.csv'));
  });

  test('in the input alone: after a finished night the next is a new run, which replaces the output', async () => {
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in-2026-01-01.csv'), 'email\nana@works1.example\nbo@works1.example\n');
    await writeFile(folder.at('in-2026-01-02.csv'), 'email\nbo@works1.example\ncy@works1.example\n');
    expect((await folder.run(args({ ...nightly, steps: 'enrich', date: '2026-01-01' }))).code).toBe(0);
    expect((await folder.run(args({ ...nightly, steps: 'enrich', date: '2026-01-02' }))).code).toBe(0);
    expect(await folder.read('out.csv')).toMatch(/^email,.*\nbo@[^\n]*\n[^\n]*\ncy@[^\n]*\n[^\n]*\n$/);
    expect([...service.asked]).toEqual([['enrich ana@works1.example', 1], ['enrich bo@works1.example', 1], ['enrich cy@works1.example', 1]]);
    // Another name written out is another job's, as ever.
    const other = await folder.run(args({ input: 'in-2026-01-01.csv', steps: 'enrich' }));
    expect(other).toMatchObject({ code: 78, stderr: expect.stringMatching(/input\.uri was \[".*in-2026-01-02\.csv"\] and is now \[".*in-2026-01-01\.csv"\]/) });
  });

  test('in the input alone: a night that was stopped is finished first, with its own date', async () => {
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in-2026-01-01.csv'), toCsv(ROWS));
    await writeFile(folder.at('in-2026-01-02.csv'), toCsv(ROWS.slice(0, 5)));
    service.latencyMs = 5;
    const first = folder.start(args({ ...nightly, ...LENIENT, date: '2026-01-01' }));
    await service.sees(50);
    first.kill('SIGTERM');
    await first.ended;
    expect(await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-02' }))).toMatchObject({ code: 78, stderr: expect.stringMatching(/input\.uri was \[".*in-2026-01-01\.csv"\]/) });
    expect((await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-01' }))).code).toBe(0);
    expect((await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-02' }))).code).toBe(0);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 5 });
  });
});

test('an input that is gone does not make an empty output of a whole one, where nothing to do is no error', async () => {
  const world = await finished({ input: 'in*.csv', 'input.ifMissing': 'succeed' });
  await rename(world.folder.at('in.csv'), world.folder.at('archived'));
  const again = await world.folder.run(world.args({ ...LENIENT, input: 'in*.csv', 'input.ifMissing': 'succeed', progress: 'log' }));
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing matches its input now: its output is kept') });
  expect(await readFile(world.folder.at('out.csv'))).toEqual(world.before);
});

test('a pilot that has finished is whole, and its status says of how many records', async () => {
  const { folder, args } = await finished({ limit: '13' });
  const { stdout } = await folder.run(['status', ...args({ ...LENIENT, limit: '13' }).slice(1), '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ state: 'finished', share: 1, expected: { records: 13, isExact: true } });
});
