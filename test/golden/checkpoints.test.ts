/** Each recorded state of a job goes on to the same bytes, and sends what the build that left it would have sent. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { expectGolden, isRecording } from './golden-file.ts';
import { recordState } from './record-state.ts';
import { makeGoldenWorld, transcript, writeGoldenJob } from './run-job.ts';
import { loadFolder } from './saved-folder.ts';
import { GOLDEN_STATES } from './states.ts';

test.each(GOLDEN_STATES)('a job that was $name goes on from its files to the same output with the same requests', async (state) => {
  if (isRecording) await recordState(state);
  const { folder, vendors, run } = await makeGoldenWorld();
  await writeGoldenJob(folder, state.job);
  await loadFolder(`states/${state.name}/files`, folder, vendors);
  for (const [i, { args, code }] of state.next.entries()) {
    vendors.sent.length = 0;
    const [command = '', ...more] = args;
    expect(await run(command, `${state.job.name}.yaml`, '--progress', 'none', ...more)).toMatchObject({ code });
    await expectGolden(`states/${state.name}/${i + 1}-requests.jsonl`, transcript(vendors.sent));
    await expectGolden(`states/${state.name}/${i + 1}-out.csv`, await readFile(folder.at('out.csv'), 'utf8'));
    await expectGolden(`states/${state.name}/${i + 1}-errors.jsonl`, await folder.read('out.csv.errors.jsonl').catch(() => ''));
  }
});
