/** The same command again, after the job was stopped and something changed. */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import { toCsv } from '../support/leads.ts';
import { requestsIn } from '../support/report-page.ts';
import { sampleOf } from '../support/sample.ts';
import { filesOf, LENIENT, ROWS, stopped } from './job-states.ts';
import { SEED } from '../support/seed.ts';

describe(`a stopped job (SEED=${SEED})`, () => {
  test('continues with another rpm, plan, concurrency, timeout and limits, also when an earlier version began it', async () => {
    const { folder, args } = await stopped();
    const {
      totals: { series: _, ...totals },
      mark: {
        tally: { errors: __, ...tally },
        ...mark
      },
      sha256: ___,
      ...checkpoint
    } = (await folder.json('out.csv.checkpoint.json')) as unknown as Checkpoint & { sha256: string };
    await writeFile(folder.at('out.csv.checkpoint.json'), JSON.stringify({ ...checkpoint, totals, mark: { ...mark, tally } }));
    const other = {
      plan: false,
      rpm: '100000',
      concurrency: '3',
      'timeout-ms': '5000',
      'max-calls': '100000',
      'limits.maxWaitMs': '1000',
      'limits.maxOutageMs': '1000',
      'limits.trustMisses': true,
      progress: 'log',
      'log-level': 'warn',
      'max-errors': '99%',
    } as const;
    expect(await folder.run(args(other))).toMatchObject({ code: 0 });
    const page = await folder.read('out.csv.report.html');
    const { said, inTable } = requestsIn(page);
    const before = Object.values(totals.calls).reduce((sum, calls) => sum + calls, 0);
    expect(said - inTable).toBe(before);
    expect(page).toContain(`<p class="note">${before} of them are not below: an earlier version of Millrace sent them`);
  });

  test('refuses to continue when any other key changed, and names the key', async () => {
    const { folder, service, args } = await stopped();
    await writeFile(folder.at('other.csv'), toCsv(ROWS));
    const before = await filesOf(folder);
    for (const [more, words] of sampleOf(
      [
        [{ steps: 'enrich' }, /steps was \["enrich","verify"\] and is now \["enrich"\]/],
        [{ 'verify.when': 'unverified' }, /verify\.when was "always" and is now "unverified"/],
        [{ 'output.escapeFormulas': true }, /output\.escapeFormulas was false and is now true/],
        [{ 'base-url': 'http://other.example' }, /service\.baseUrl was "http:.*" and is now "http:\/\/other\.example"/],
        [{ input: 'other.csv' }, /input\.uri was \[".*\/in\.csv"\] and is now \[".*\/other\.csv"\]/],
        [{ 'input.columns.email': 'Note' }, /input\.columns\.email was null and is now "Note"/],
      ] as const,
      3,
    )) {
      expect(await folder.run(args({ ...LENIENT, ...more }))).toMatchObject({ code: 78, stderr: expect.stringMatching(words) });
    }
    expect(await filesOf(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('ends with 65 and changes no file when its input changed, and resumes once the input is restored', async () => {
    const { folder, service, args } = await stopped();
    const original = await readFile(folder.at('in.csv'));
    const before = await filesOf(folder);
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
    expect(await filesOf(folder)).toEqual(before);
    expect((await folder.run(args(LENIENT))).code).toBe(0);
  });

  test('writes an unfinished output that was cut or removed again, from the ledger', async () => {
    for (const { spoil, says } of sampleOf(
      [
        { spoil: (path: string) => rm(path), says: 'is missing' },
        { spoil: (path: string) => writeFile(path, 'cut'), says: 'was cut from outside: it has 3 bytes, and the checkpoint says' },
      ],
      1,
    )) {
      const { folder, service, args } = await stopped({ steps: 'enrich', limit: '250' });
      const paid = (await folder.json('out.csv.checkpoint.json'))['totals'] as { calls: { enrich: number } };
      await spoil(folder.at('out.csv.partial'));
      const ended = await folder.run(args({ ...LENIENT, steps: 'enrich', limit: '250', progress: 'bar' }));
      expect(ended).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(new RegExp(`out\\.csv\\.partial ${says}.*: its rows are written again, from the ledger`)),
      });
      expect(service.repeated).toBe(0);
      const report = await folder.json('out.csv.report.json');
      expect(report['calls']).toEqual({ enrich: paid.calls.enrich + service.calls.enrich });
      expect(report['records']).toMatchObject({ total: 250 });
    }
  });
});
