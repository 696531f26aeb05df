/** The jobs whose ledgers are kept: each looks up what can be paid for once. */
import { GOLDEN_JOBS, type GoldenJob } from './jobs.ts';

const NAMES = [
  'all-steps',
  'every-key',
  'likelihood',
  'other-domain-field',
  'providers-batch',
  'providers-batch-keys',
  'providers-waterfall',
  'providers-likelihood',
];

export const PAID_JOBS: readonly GoldenJob[] = GOLDEN_JOBS.filter(({ name }) => NAMES.includes(name)).map((job) => ({
  ...job,
  name: `paid-${job.name}`,
  input: 'paid.csv',
}));
