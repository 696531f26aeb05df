/** Each recorded state of a job goes on to the same bytes, and sends what the build that left it would have sent. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { expectGolden, isToRecord } from './golden-file.ts';
import { maskedReport } from './masked-report.ts';
import { recordState } from './record-state.ts';
import { makeGoldenWorld, transcript, writeGoldenJob } from './run-job.ts';
import { loadFolder } from './saved-folder.ts';
import { GOLDEN_STATES } from './states.ts';

test.each(GOLDEN_STATES)('a job that was $name goes on from its files to the same output with the same requests', async (state) => {
  if (isToRecord(`states/${state.name}/files`)) await recordState(state);
  const { folder, vendors, run } = await makeGoldenWorld();
  await writeGoldenJob(folder, state.job);
  await loadFolder(`states/${state.name}/files`, folder, vendors);
  for (const [i, { args, code }] of state.next.entries()) {
    vendors.sent.length = 0;
    const [command = '', ...more] = args;
    const ended = await run(command, `${state.job.name}.yaml`, '--progress', 'none', ...more);
    // A state that could not be used would be warned of, and its rows written again.
    expect(ended).toMatchObject({ code, stderr: expect.not.stringContaining('warning:') });
    await expectGolden(`states/${state.name}/${i + 1}-requests.jsonl`, transcript(vendors.sent));
    await expectGolden(`states/${state.name}/${i + 1}-out.csv`, await readFile(folder.at('out.csv'), 'utf8'));
    await expectGolden(`states/${state.name}/${i + 1}-errors.jsonl`, await folder.read('out.csv.errors.jsonl').catch(() => ''));
    await expectGolden(`states/${state.name}/${i + 1}-report.json`, maskedReport(await folder.json('out.csv.report.json')));
  }
});
