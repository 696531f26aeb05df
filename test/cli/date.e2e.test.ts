/** `{date}` in the paths of a nightly job. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';
import { LENIENT, ROWS } from './job-states.ts';

describe('a job with {date}', () => {
  const nightly = { input: 'in-{date}.csv' };

  test('in its output is a new job on the next day', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 20)));
    for (const date of ['2026-01-01', '2026-01-02'])
      expect((await folder.run(args({ ...LENIENT, output: 'out-{date}.csv', name: 'nightly', date }))).code).toBe(0);
    expect(await folder.read('out-2026-01-01.csv')).toBe(await folder.read('out-2026-01-02.csv'));
  });

  test('in its output says how a stopped day is resumed, when it stops and beside the next day', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS.slice(0, 100)));
    service.latencyMs = 5;
    const of = (date: string): string[] => args({ ...LENIENT, output: 'out-{date}.csv', name: 'nightly', date, progress: 'log' });
    const first = folder.start(of('2026-01-01'));
    await service.sees(20);
    first.kill('SIGTERM');
    const stopped = await first.ended;
    expect(stopped.code).toBe(75);
    expect(stopped.stderr).toContain('stopped early; the same command with --date 2026-01-01 resumes');
    expect(stopped.stderr).toContain('  Run the same command with --date 2026-01-01: the job resumes where it stopped.');
    const next = await folder.run(of('2026-01-02'));
    expect(next).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'the run of 2026-01-01 was not finished: the same command with --date 2026-01-01 resumes it',
      ) as string,
    });
    expect(await folder.run(of('2026-01-01'))).toMatchObject({ code: 0, stderr: expect.not.stringContaining('days_unfinished') as string });
    expect((await folder.run(of('2026-01-03'))).stderr).not.toContain('days_unfinished');
  });

  test('warns of an input that the night before has had, and of half its rows, and exits with 1 where the job says so', async () => {
    const { folder, args } = await makeWorld();
    const input = (day: number, rows: number, from = 0): Promise<void> =>
      writeFile(folder.at(`in-2026-01-0${day}.csv`), toCsv(ROWS.slice(from, from + rows)));
    await Promise.all([input(1, 60), input(2, 60), input(3, 30), input(5, 60, 1), input(6, 120)]);
    await writeFile(folder.at('in-2026-01-04.csv'), `${toCsv(ROWS.slice(0, 1)).split('\n')[0]}\n`);
    const night = (day: number, more = {}) =>
      folder.run(args({ ...nightly, ...LENIENT, output: 'out-{date}.csv', name: 'nightly', date: `2026-01-0${day}`, ...more }));
    expect((await night(1)).stderr).not.toMatch(/warning/);
    expect(await night(2)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: the input is that of the last run') as string,
    });
    const half = 'the input has 30 rows, and that of the last run had 60; alerts.rowsBelow makes such a run exit with 1';
    expect(await night(3)).toMatchObject({ code: 0, stderr: expect.stringContaining(half) as string });
    expect(await night(4)).toMatchObject({ code: 0, stderr: expect.stringContaining('the input has 0 rows') as string });
    // The empty night is no measure: the one before it is.
    const previous = async (day: number): Promise<unknown> => (await folder.json(`out-2026-01-0${day}.csv.report.json`))['previous'];
    expect(await night(5, { 'alerts.rowsAbove': '150%' })).toMatchObject({
      code: 1,
      stderr: expect.not.stringContaining('row_count') as string,
    });
    expect(await previous(5)).toMatchObject({ records: { total: 30 } });
    await writeFile(folder.at('in-2026-01-06.csv'), await folder.read('in-2026-01-05.csv'));
    expect((await night(6, { 'alerts.sameInput': true })).code).toBe(1);
    expect((await folder.json('out-2026-01-06.csv.report.json'))['exitReasons']).toEqual([
      'the input is that of the last run, and alerts.sameInput is true',
    ]);
  });

  test('in its input alone starts a new run on the day after a finished one, which replaces the output', async () => {
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in-2026-01-01.csv'), 'email\nana@works1.example\nbo@works1.example\n');
    await writeFile(folder.at('in-2026-01-02.csv'), 'email\nbo@works1.example\ncy@works1.example\n');
    expect((await folder.run(args({ ...nightly, steps: 'enrich', date: '2026-01-01' }))).code).toBe(0);
    expect((await folder.run(args({ ...nightly, steps: 'enrich', date: '2026-01-02' }))).code).toBe(0);
    expect(await folder.read('out.csv')).toMatch(/^email,.*\nbo@[^\n]*\n[^\n]*\ncy@[^\n]*\n[^\n]*\n$/);
    expect([...service.asked]).toEqual([
      ['enrich ana@works1.example', 1],
      ['enrich bo@works1.example', 1],
      ['enrich cy@works1.example', 1],
    ]);
    // An input path without {date} belongs to another job, as always.
    const other = await folder.run(args({ input: 'in-2026-01-01.csv', steps: 'enrich' }));
    expect(other).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/input\.uri was \[".*in-2026-01-02\.csv"\] and is now \[".*in-2026-01-01\.csv"\]/),
    });
  });

  test('in its input alone finishes a stopped day first, with the date of that day', async () => {
    const { folder, service, args } = await makeWorld();
    await writeFile(folder.at('in-2026-01-01.csv'), toCsv(ROWS));
    await writeFile(folder.at('in-2026-01-02.csv'), toCsv(ROWS.slice(0, 5)));
    service.latencyMs = 5;
    const first = folder.start(args({ ...nightly, ...LENIENT, date: '2026-01-01' }));
    await service.sees(50);
    first.kill('SIGTERM');
    await first.ended;
    expect(await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-02' }))).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/input\.uri was \[".*in-2026-01-01\.csv"\]/),
    });
    expect((await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-01' }))).code).toBe(0);
    expect((await folder.run(args({ ...nightly, ...LENIENT, date: '2026-01-02' }))).code).toBe(0);
    expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 5 });
  });
});
