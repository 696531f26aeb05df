/** Jobs that cannot be retried. */
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { contents, finishedWithFailures, ROWS } from './retried-job.ts';
import { SEED } from '../support/seed.ts';

describe(`a retry is refused and changes no file (SEED=${SEED})`, () => {
  test('when input, output or errors file changed or is gone, or the definition differs', async () => {
    const { folder, service, line } = await finishedWithFailures();
    const before = await contents(folder);
    for (const [name, change, words] of sampleOf(
      [
        [
          'in.csv',
          (path: string) => appendFile(path, 'x,x@works1.example,,\n'),
          /the input is not what the job has read: in\.csv had \d+ bytes/,
        ],
        ['in.csv', rm, /the input is not what the job has read: in\.csv is no longer there/],
        ['out.csv', (path: string) => appendFile(path, 'x\n'), /out\.csv is no longer as this job wrote it/],
        ['out.csv', rm, /out\.csv is gone\n.*millrace run/],
        ['out.csv.errors.jsonl', (path: string) => writeFile(path, ''), /errors\.jsonl is no longer as this job wrote it/],
        ['out.csv.errors.jsonl', rm, /errors\.jsonl is gone\n.*which records failed/],
        ['out.csv.checkpoint.json', rm, /has never run: there is no checkpoint at .*\n.*millrace run/],
      ] as const,
      4,
      SEED,
    )) {
      await change(folder.at(name));
      expect(await folder.run(line('retry'))).toMatchObject({ code: 65, stderr: expect.stringMatching(words) });
      await writeFile(folder.at(name), before.get(name) ?? '');
      expect(await contents(folder)).toEqual(before);
    }
    expect(await folder.run(line('retry', { 'output.escapeFormulas': true }))).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('output.escapeFormulas was false and is now true'),
    });
    expect(await contents(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('when the job is not finished', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const run = folder.start(args({ 'max-calls': '50' }));
    expect((await run.ended).code).toBe(77);
    service.forget();
    expect(await folder.run(['retry', ...args().slice(1)])).toMatchObject({
      code: 65,
      stderr: expect.stringMatching(/is not finished: it stopped after \d+ rows\n.*millrace run/),
    });
    expect(service.requests).toEqual([]);
  });
});
