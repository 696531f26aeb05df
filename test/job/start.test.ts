/** How a run begins, by what it finds of the job. */
import { expect, test } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads } from '../support/leads.ts';
import { InProcess } from './shards/world.ts';

const JOB = csvJob(leads(30, 7), { steps: 'enrich', concurrency: '4' });

test('a mistyped input of a finished job is reported as missing, and a mistyped column as not in the header', async () => {
  const world = await InProcess.with(JOB);
  expect(await world.run('out.csv')).toBe(EXIT.ok);
  const missing = world.run('out.csv', null, { input: world.folder.at('inn.csv') });
  await expect(missing).rejects.toMatchObject({ exitCode: EXIT.input, code: 'input_missing', message: expect.stringContaining('inn.csv') });
  const column = world.run('out.csv', null, { 'input.columns.email': 'Work Emial' });
  await expect(column).rejects.toMatchObject({ exitCode: EXIT.input, message: expect.stringContaining('Work Emial') });
  await expect(world.run('out.csv', null, { steps: 'enrich,verify' })).rejects.toMatchObject({ exitCode: EXIT.config, code: 'job_changed' });
});
