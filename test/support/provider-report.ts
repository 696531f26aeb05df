/** The report of a job with three providers, for tests of what is shown of it. */
import { NEW_PROVIDER, type ProviderState } from '../../src/checkpoint/provider-state.ts';
import type { Checkpoint } from '../../src/checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import { NO_COUNTS } from '../../src/writer/provider-tally.ts';
import { CHECKPOINT } from '../checkpoint/samples.ts';
import { jobOf } from './provider-jobs.ts';

/** Enrich asks alpha, then beta; verify asks gamma, then beta. */
export const PROVIDERS_JOB: CompiledJob = jobOf({
  steps: [{ enrich: { from: ['alpha', 'beta'] } }, { verify: { from: ['gamma', 'beta'] } }],
  providers: { alpha: { creditPrice: '0.02 EUR' }, beta: { creditPrice: '0.10 EUR' }, gamma: { onUnavailable: 'skip' } },
});

function state(totals: Partial<ProviderState['totals']>, skipped: string | null = null): ProviderState {
  return { ...NEW_PROVIDER, totals: { ...NEW_PROVIDER.totals, ...totals }, skipped };
}

const tally = {
  total: 1_200,
  outcomes: { matched: 900, no_match: 300, invalid: 0, suppressed: 0, failed: 0 },
  verification: { deliverable: 800 },
  providers: {
    enrich: {
      alpha: { ...NO_COUNTS, asked: 1_200, matched: 600, missed: 590, failed: 10, rows: 600, first: 600, fields: 1_800 },
      beta: { ...NO_COUNTS, asked: 600, matched: 300, missed: 300, rows: 300, first: 300, fields: 900 },
    },
    verify: {
      gamma: { ...NO_COUNTS, asked: 900, unavailable: 900 },
      beta: { ...NO_COUNTS, asked: 900, matched: 900, rows: 800, first: 900, fields: 800 },
    },
  },
};

export const PROVIDERS_CHECKPOINT: Checkpoint = {
  ...CHECKPOINT,
  fingerprint: { steps: ['enrich', 'verify'] },
  state: 'finished',
  finishedAt: '2026-03-01T00:10:00.000Z',
  exitCode: 0,
  mark: { ...CHECKPOINT.mark, tally },
  totals: { ...CHECKPOINT.totals, calls: { enrich: 1_500, verify: 905 }, credits: 2_100, activeMs: 600_000 },
  providers: {
    alpha: state({ calls: { enrich: 1_205 }, credits: 600, creditsBy: { enrich: 600 }, retries: 5, latency: { '40': 1_205 } }),
    beta: state({ calls: { enrich: 295, verify: 900 }, credits: 1_500, creditsBy: { enrich: 600, verify: 900 } }),
    gamma: state({ calls: { verify: 5 }, throttled: { events: 1, waitedMs: 2_000 } }, 'it has been down for 10 min'),
  },
};
