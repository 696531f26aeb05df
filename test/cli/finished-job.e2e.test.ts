/** The same command again, after the job finished. */
import { appendFile, readFile, rename, rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { filesOf, finished, LENIENT, ROWS } from './job-states.ts';

describe('a finished job', () => {
  test('continues at once with a higher limit, without rate-limit headers too, because it knows the quota it has spent', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const pilot = args({ ...LENIENT, steps: 'enrich', limit: '20' }).flatMap((arg) =>
      arg === '--plan' ? ['--rpm'] : arg === 'enterprise' ? ['60000'] : [arg],
    );
    expect((await folder.run(pilot)).code).toBe(0);
    // After a kill the run would count its quota as spent, and wait for a minute.
    expect((await folder.run(pilot.map((arg) => (arg === '20' ? '120' : arg)))).code).toBe(0);
    expect(service.requests.length).toBeLessThanOrEqual(120);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 120 });
  });

  test.each([
    ['ends again with 0', LENIENT, 0],
    ['ends again with 1', { 'max-errors': '0' }, 1],
  ])('calls nothing, changes no file, and %s', async (_, more, code) => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args(more))).code).toBe(code);
    const before = await filesOf(folder);
    service.forget();
    const again = await folder.run(args({ ...more, progress: 'bar' }));
    expect(again.code).toBe(code);
    expect(again.stderr).toContain('This job had finished, and its input has not changed: nothing was called.');
    expect(service.requests).toEqual([]);
    expect(await filesOf(folder)).toEqual(before);
  });

  test('starts a new run when its input has changed, keeps the old output until the end, and pays only for new lookups', async () => {
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
    // A new run asks again for `failed` and `unknown` lookups, and for no other known one.
    const asked = [...service.asked.keys()].filter((key) => !key.includes('refused') && !key.startsWith('verify'));
    expect(asked).toEqual(['enrich new-person@works1.example']);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: ROWS.length + 1 });
  });

  test('writes a removed output again, byte for byte, without a call', async () => {
    for (const output of sampleOf(['out.csv', 'out.csv.gz'], 1)) {
      const { folder, service, args, before } = await finished({ output });
      const report = await folder.json(`${output}.report.json`);
      const errors = await folder.read(`${output}.errors.jsonl`);
      await rm(folder.at(output));
      expect(await folder.run(args({ ...LENIENT, output }))).toMatchObject({ code: 0 });
      expect(service.requests).toEqual([]);
      expect(await readFile(folder.at(output))).toEqual(before);
      expect(await folder.read(`${output}.errors.jsonl`)).toBe(errors);
      // Writing it again takes a moment, and is a run of its own.
      const inTime = ['finishedAt', 'activeMs', 'recordsPerSecond', 'runs', 'timeline'];
      const untimed = (one: object): unknown => Object.fromEntries(Object.entries(one).filter(([key]) => !inTime.includes(key)));
      const again = await folder.json(`${output}.report.json`);
      expect(untimed(again)).toEqual(untimed(report));
      expect(Number(again['activeMs'])).toBeGreaterThanOrEqual(Number(report['activeMs']));
      expect(again['runs']).toMatchObject({ count: 2, killed: 0 });
    }
  });

  test('starts over with --fresh and takes the answers from the ledger', async () => {
    const { folder, service, args, before } = await finished();
    expect((await folder.run(args({ ...LENIENT, fresh: true }))).code).toBe(0);
    const asked = [...service.asked.keys()].filter((key) => key.startsWith('enrich') && !key.includes('refused'));
    expect(asked).toEqual([]);
    expect(await readFile(folder.at('out.csv'))).toEqual(before);
  });
});

test('a finished job whose input is gone keeps its output, when input.ifMissing is succeed', async () => {
  const world = await finished({ input: 'in*.csv', 'input.ifMissing': 'succeed' });
  await rename(world.folder.at('in.csv'), world.folder.at('archived'));
  const again = await world.folder.run(world.args({ ...LENIENT, input: 'in*.csv', 'input.ifMissing': 'succeed', progress: 'log' }));
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing matches its input now: its output is kept') });
  expect(await readFile(world.folder.at('out.csv'))).toEqual(world.before);
});

test('the status of a finished pilot says that all records of its limit are done', async () => {
  const { folder, args } = await finished({ limit: '13' });
  const { stdout } = await folder.run(['status', ...args({ ...LENIENT, limit: '13' }).slice(1), '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ state: 'finished', share: 1, expected: { records: 13, isExact: true } });
});
