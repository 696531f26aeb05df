import { expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { spentBefore } from '../../../src/job/run/spent-before.ts';
import { newCheckpoint } from '../../../src/job/lifecycle/new-checkpoint.ts';
import { jobPaths } from '../../../src/job/lifecycle/paths.ts';
import { compiled } from '../../definition/support.ts';

const DAY_MS = 86_400_000;

it.each(['enterprise', 'scale'])(
  'after a kill on the %s plan, a stated day counts the calls claimed since the checkpoint as spent, and no minute of the plan',
  (plan) => {
    const job = compiled({ flags: { input: 'in.csv', output: 'out.csv', embedded: true, plan, 'service.windows': '50000/day' } });
    const fresh = newCheckpoint(
      job,
      jobPaths(job, { scratch: null }),
      { files: [], format: 'csv', columns: [], keyName: null } as unknown as Checkpoint['manifest'],
      1,
      new Date(),
    );
    const window = { periodMs: DAY_MS, limit: 50_000, left: null, resetAtMs: null, spent: [[0, 1_000]] as const };
    const checkpoint: Checkpoint = {
      ...fresh,
      state: 'running',
      callsAtMost: 1_700,
      spent: { calls: 90, lastAtMs: 0, sent: 1_200, windows: [window] },
    };
    expect(spentBefore(job, checkpoint, true)?.windows).toEqual([
      {
        ...window,
        spent: [
          [0, 1_000],
          [job.checkpoint.everyMs, 500],
        ],
      },
    ]);
    expect(spentBefore(job, checkpoint, false)?.windows).toEqual([window]);
  },
);
