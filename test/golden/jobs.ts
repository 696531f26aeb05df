/** The jobs of the golden files. Each is run once from its start; its requests, rows, report and ledger are compared with the files. */
import { DATA, type Fault, type Sent } from './vendors.ts';

export interface GoldenJob {
  /** Also the name of its golden files. */
  readonly name: string;
  /** In fixtures/golden/input. */
  readonly input: string;
  /** The job file without its name, input and output. */
  readonly job: Readonly<Record<string, unknown>>;
  /** Default: `csv`. */
  readonly format?: 'csv' | 'jsonl' | 'parquet';
  /** The faults of the services; default: none. */
  readonly fault?: () => Fault;
}

/** One call at a time, so that the order of requests is always the same. */
const SERVICE = { baseUrl: DATA, plan: 'enterprise', concurrency: 1 };
const ALL_STEPS = ['enrich', 'verify', 'company', 'reveal'];
const ALL_KEYS = {
  enrich: { by: ['linkedin_url', 'phone', 'name', 'email', 'domain'] },
  reveal: { by: ['phone', 'name', 'linkedin_url', 'email'] },
};

const batch = { use: './batch.yaml', windows: [], concurrency: 1 };
const late = { use: './late.yaml', windows: [], concurrency: 1 };
const data = { use: 'millrace', baseUrl: DATA, plan: 'enterprise', concurrency: 1 };

const emailsIn = ({ body }: Sent): readonly string[] => (JSON.parse(body) as { emails?: string[] }).emails ?? [];

/** A request with a slow address among others gets no answer, so that it runs into the time limit. */
const slow = (): Fault => (sent) => (emailsIn(sent).length > 1 && emailsIn(sent).some((email) => email.startsWith('slow')) ? 'hold' : null);

/** The first request for each lookup fails, and the second one succeeds. */
const failingFirst = (): Fault => {
  const seen = new Set<string>();
  return ({ call, body }) => {
    const isFirst = !seen.has(call + body);
    seen.add(call + body);
    return isFirst ? { status: 503, body: {} } : null;
  };
};

const steps = { service: SERVICE, steps: ALL_STEPS };

export const GOLDEN_JOBS: readonly GoldenJob[] = [
  { name: 'all-steps', input: 'people.csv', job: steps },
  { name: 'all-steps-jsonl', input: 'people.csv', job: steps, format: 'jsonl' },
  { name: 'all-steps-parquet', input: 'people.csv', job: steps, format: 'parquet' },
  { name: 'every-key', input: 'people.csv', job: { ...steps, ...ALL_KEYS } },
  {
    name: 'likelihood',
    input: 'people.csv',
    job: { service: SERVICE, steps: ['enrich'], enrich: { ...ALL_KEYS.enrich, minLikelihood: 60, required: ['title', 'email'] } },
  },
  {
    name: 'other-domain-field',
    input: 'people.csv',
    job: { service: { ...SERVICE, fields: { domain: 'company_domain' } }, steps: ['enrich'], enrich: { by: ['name', 'domain'] } },
  },
  { name: 'verify-halved', input: 'halved.csv', job: { service: SERVICE, steps: ['verify'] } },
  { name: 'verify-timed-out', input: 'slow.csv', job: { service: { ...SERVICE, timeoutMs: 400 }, steps: ['verify'] }, fault: slow },
  { name: 'verify-pending', input: 'late.csv', job: { service: SERVICE, steps: ['verify'], verify: { patienceMs: 2_500 } } },
  { name: 'failing-first', input: 'halved.csv', job: { service: SERVICE, steps: ['enrich', 'company'] }, fault: failingFirst },
  { name: 'providers-batch', input: 'people.csv', job: { providers: { batch }, steps: ALL_STEPS } },
  { name: 'providers-batch-keys', input: 'people.csv', job: { providers: { batch }, steps: ['enrich', 'reveal'], ...ALL_KEYS } },
  { name: 'providers-halved', input: 'halved.csv', job: { providers: { batch }, steps: ['enrich', 'verify'] } },
  { name: 'providers-ticket', input: 'late.csv', job: { providers: { late }, steps: ['enrich'] } },
  {
    name: 'providers-waterfall',
    input: 'people.csv',
    job: {
      providers: { batch, late, data },
      steps: [
        { enrich: { from: ['batch', 'late', 'data'], until: ['name', 'title'], fields: 'merge' } },
        { verify: { from: ['data', 'batch'] } },
        { reveal: { from: ['data', 'batch'] } },
      ],
    },
  },
  {
    name: 'providers-likelihood',
    input: 'people.csv',
    job: { providers: { batch, data }, steps: ['enrich'], enrich: { ...ALL_KEYS.enrich, minLikelihood: 60, required: ['title'] } },
  },
];

/** A job of the one service with these steps; or, by its name alone, one of `GOLDEN_JOBS`. */
export function goldenJob(
  name: string,
  input = '',
  steps: readonly string[] = [],
  more: Readonly<Record<string, unknown>> = {},
): GoldenJob {
  return GOLDEN_JOBS.find((job) => job.name === name) ?? { name, input, job: { service: SERVICE, steps, ...more } };
}
