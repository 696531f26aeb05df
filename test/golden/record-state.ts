/** Records the files that a job in a given state has, by ending the command in that state. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { atStep } from '../support/crash-chain.ts';
import { answersIn, INPUTS, KEYS, makeGoldenWorld, writeGoldenJob } from './run-job.ts';
import { saveFolder } from './saved-folder.ts';
import type { GoldenState } from './states.ts';

export async function recordState({ name, job, before = [], ended }: GoldenState): Promise<void> {
  const { folder, vendors, run } = await makeGoldenWorld();
  const file = `${job.name}.yaml`;
  await writeGoldenJob(folder, job);
  const argsOf = ([command = '', ...more]: readonly string[]): string[] => [command, file, '--progress', 'none', ...more];
  for (const { args, fault = () => null } of before) {
    vendors.fault = fault;
    expect(await run(...argsOf(args))).toMatchObject({ code: 0 });
  }
  if (ended !== null) {
    vendors.fault = ended.fault;
    const started = folder.start(argsOf(ended.args), {
      env: { ...KEYS, ...vendors.env, ...(ended.step === undefined ? {} : atStep(ended.step)) },
    });
    const shard = ended.args.includes('--shard') ? '.shard-1-of-2' : '';
    while (ended.step === undefined) {
      const checkpoint = await readFile(folder.at(`out.csv.checkpoint.json${shard}`), 'utf8').catch(() => '');
      const answers = vendors.held === 0 ? '' : answersIn(folder.at('out.csv.ledger'));
      if (ended.isDue({ held: vendors.held, checkpoint, answers })) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // A stopped run waits 25 seconds for its calls in flight.
    if (ended.step === undefined) started.kill(ended.signal);
    const { code, signal } = await started.ended;
    expect(code ?? signal).toBe(ended.signal === 'SIGTERM' ? 75 : 'SIGKILL');
  }
  await saveFolder(`states/${name}/files`, folder, vendors, [...INPUTS, file]);
}
