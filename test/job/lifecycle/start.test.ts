/** The start of a run, by the files that it finds. */
import { expect, test } from 'vitest';
import { EXIT } from '../../../src/util/errors.ts';
import { csvJob } from '../../support/crash-jobs.ts';
import { leads } from '../../support/leads.ts';
import { InProcess } from '../shards/world.ts';

const JOB = csvJob(leads(30, 7), { steps: 'enrich', concurrency: '4' });

test('a finished job with a mistyped input or column is refused as changed, and the message names the typo', async () => {
  const world = await InProcess.with(JOB);
  expect(await world.run('out.csv')).toBe(EXIT.ok);
  const refused = (code: string, ...words: string[]): object => ({
    exitCode: EXIT.config,
    code,
    message: expect.stringMatching(words.join('.*')),
  });
  await expect(world.run('out.csv', null, { input: world.folder.at('inn.csv') })).rejects.toMatchObject(
    refused('job_changed', 'input\\.uri was', 'is now', 'inn\\.csv', 'inn\\.csv'),
  );
  await expect(world.run('out.csv', null, { 'input.columns.email': 'Work Emial' })).rejects.toMatchObject(
    refused('job_changed', 'input\\.columns\\.email was', 'Work Emial', 'Work Emial'),
  );
  await expect(world.run('out.csv', null, { steps: 'enrich,verify' })).rejects.toMatchObject(refused('job_changed', 'steps was'));
});
