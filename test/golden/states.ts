/** The states in which a job may be found, and how each was recorded. */
import type { Step } from '../support/crash-chain.ts';
import { goldenJob, type GoldenJob } from './jobs.ts';
import type { Fault, Sent } from './vendors.ts';

export interface GoldenState {
  readonly name: string;
  readonly job: GoldenJob;
  /** Commands before the one that is ended, with the faults of the services meanwhile. */
  readonly before?: readonly { readonly args: readonly string[]; readonly fault?: Fault }[];
  /** The command that is ended; null when those before are all. */
  readonly ended: {
    readonly args: readonly string[];
    readonly signal: 'SIGKILL' | 'SIGTERM';
    /** The faults until the end, which comes once `isDue`. */
    readonly fault: Fault;
    readonly isDue: (world: { readonly held: number; readonly checkpoint: string; readonly answers: string }) => boolean;
    /** Ends the command right before this step instead. */
    readonly step?: Step;
  } | null;
  /** The commands that go on from there, with their exit codes. */
  readonly next: readonly { readonly args: readonly string[]; readonly code: number }[];
}

const RUN = ['run'];
const RETRY = ['retry'];
const FINISHES = [{ args: RUN, code: 0 }];

const calls =
  (text: string): ((sent: Sent) => boolean) =>
  ({ call, body }) =>
    `${call} ${body}`.includes(text);

/** Never answers requests that hold this text, nor any request after the first of them. */
function holding(text: string): Fault {
  const isMeant = calls(text);
  let isOver = false;
  return (sent) => {
    isOver ||= isMeant(sent);
    return isOver ? 'hold' : null;
  };
}

/** Refuses these lookups. */
const refusing =
  (...names: readonly string[]): Fault =>
  ({ body }) =>
    names.some((name) => body.includes(name)) ? { status: 422, body: { code: 'refused_for_now' } } : null;

/** Refuses these lookups where the call is meant. */
const refusingAt =
  (calls: RegExp, ...names: readonly string[]): Fault =>
  (sent, number) =>
    calls.test(sent.call) ? refusing(...names)(sent, number) : null;

/** Rows that the checkpoint counts. */
const rowsIn = (checkpoint: string): number =>
  checkpoint === '' ? 0 : (JSON.parse(checkpoint) as { mark: { tally: { total: number } } }).mark.tally.total;

/** Lookups of the waterfall that come to the vendor which answers later. */
const PROMISES = 12;

/**
 * Some promises name no credits. Once there has been a poll with each ticket, polls are never answered, nor any request after them. Before
 * that, the answer to each further poll comes still later: so an answer is there at the next poll, however old its promise is by then.
 */
function secondPolls(): Fault {
  const polled = new Set<string>();
  let isOver = false;
  return ({ call, body }) => {
    if (isOver) return 'hold';
    if (call.includes('POST http://late.golden.example/') && /"email":"[n-z]/.test(body)) {
      const { email } = JSON.parse(body) as { email: string };
      return { status: 202, body: { ticket: `ticket-of-${email}` } };
    }
    if (!call.includes('GET http://late.golden.example/')) return null;
    isOver = polled.size === PROMISES;
    const isFirst = !polled.has(call);
    polled.add(call);
    return isOver ? 'hold' : isFirst ? null : { status: 202, body: {} };
  };
}

const usual = goldenJob('state-usual', 'usual.csv', ['enrich']);
const rows = goldenJob('state-rows', 'people.csv', ['enrich', 'company', 'reveal']);
const all = goldenJob('state-all-steps', 'people.csv', ['enrich', 'verify', 'company', 'reveal']);
const verify = goldenJob('state-verify', 'verify.csv', ['verify'], { verify: { patienceMs: 604_800_000 } });
const halved = goldenJob('state-halved', 'halved.csv', ['verify']);
const providers: GoldenJob = { ...goldenJob('state-providers', 'people.csv', []), job: goldenJob('providers-waterfall').job };
const batches: GoldenJob = { ...goldenJob('state-batches', 'people.csv', []), job: goldenJob('providers-batch').job };
const lateBatch = { use: './late-batch.yaml', windows: [], concurrency: 1 };
const lateBatches: GoldenJob = {
  ...goldenJob('state-late-batches', 'late.csv', []),
  job: { providers: { late: lateBatch }, steps: ['enrich'] },
};
const shards = goldenJob('state-shards', 'people.csv', ['enrich', 'company']);

const kill = { args: RUN, signal: 'SIGKILL' } as const;

export const GOLDEN_STATES: readonly GoldenState[] = [
  {
    name: 'killed',
    job: rows,
    ended: { ...kill, fault: holding('mia@gmail.com'), isDue: ({ held, checkpoint }) => held > 0 && rowsIn(checkpoint) >= 8 },
    next: FINISHES,
  },
  {
    name: 'killed-while-verifying',
    job: all,
    ended: { ...kill, fault: holding('/v1/emails/verify'), isDue: ({ held, answers }) => held > 0 && answers.includes('miss-rio@rho') },
    next: FINISHES,
  },
  {
    name: 'killed-with-left-out-and-pending',
    job: verify,
    ended: { ...kill, fault: holding('["left-cleo'), isDue: ({ held, answers }) => held > 0 && answers.includes('"late-eve@') },
    next: FINISHES,
  },
  {
    name: 'killed-with-halves',
    job: halved,
    ended: {
      ...kill,
      fault: holding('["cleo@gamma.example","bad-dan'),
      isDue: ({ held, answers }) => held > 0 && answers.includes('gia@'),
    },
    next: FINISHES,
  },
  {
    name: 'stopped',
    job: all,
    ended: {
      args: RUN,
      signal: 'SIGTERM',
      fault: holding('/v1/emails/verify'),
      isDue: ({ held, answers }) => held > 0 && answers.includes('miss-rio@rho'),
    },
    next: FINISHES,
  },
  {
    name: 'killed-between-two-renames',
    job: all,
    ended: {
      ...kill,
      fault: () => null,
      isDue: () => false,
      step: { call: 'rename', file: String.raw`^out\.csv\.errors\.jsonl$`, nth: 1 },
    },
    next: FINISHES,
  },
  { name: 'finished', job: all, before: [{ args: RUN }], ended: null, next: [...FINISHES, { args: RETRY, code: 0 }] },
  {
    name: 'retried',
    job: all,
    before: [{ args: RUN, fault: refusing('quin@', 'ana-alba') }, { args: RETRY }],
    ended: null,
    next: [...FINISHES, { args: ['run', '--fresh'], code: 0 }],
  },
  {
    name: 'killed-retry',
    job: all,
    before: [{ args: RUN, fault: refusing('quin@', 'ben.bosch@', 'ana-alba') }],
    ended: {
      args: RETRY,
      signal: 'SIGKILL',
      fault: holding('quin@'),
      isDue: ({ held, answers }) => held > 0 && answers.includes('"ben.bosch@beta.example",0'),
    },
    next: [{ args: RETRY, code: 0 }],
  },
  {
    name: 'killed-with-tickets',
    job: providers,
    ended: {
      ...kill,
      fault: holding('GET http://late.golden.example/'),
      isDue: ({ held, answers }) => held > 0 && answers.includes('ticket-of-'),
    },
    next: FINISHES,
  },
  {
    name: 'killed-retry-of-open-rows',
    job: providers,
    before: [{ args: RUN, fault: refusingAt(/^POST http:.*(?:late.*lookups|data.*enrich)$/, 'mia@', 'quin@') }],
    ended: {
      args: RETRY,
      signal: 'SIGKILL',
      // Without a ticket, which the vendor would keep for ten minutes.
      fault: holding('POST http://late.golden.example/lookups'),
      isDue: ({ held }) => held > 0,
    },
    next: [{ args: RETRY, code: 0 }],
  },
  {
    name: 'killed-with-named-promises',
    job: providers,
    ended: {
      ...kill,
      fault: secondPolls(),
      isDue: ({ held, answers }) => held > 0 && answers.includes('ticket-of-'),
    },
    next: FINISHES,
  },
  {
    name: 'killed-with-shared-tickets',
    job: lateBatches,
    ended: {
      ...kill,
      fault: holding('GET http://late.golden.example/'),
      isDue: ({ held, answers }) => held > 0 && answers.includes('ticket-of-'),
    },
    next: FINISHES,
  },
  { name: 'finished-with-usual-misses', job: usual, before: [{ args: ['run', '--limit', '2'] }], ended: null, next: FINISHES },
  {
    name: 'killed-with-batches',
    job: batches,
    ended: { ...kill, fault: holding('"email":"mia@'), isDue: ({ held, answers }) => held > 0 && answers.includes('ana@alpha') },
    next: FINISHES,
  },
  {
    name: 'killed-shard',
    job: shards,
    before: [{ args: ['run', '--shard', '0/2'] }],
    ended: {
      args: ['run', '--shard', '1/2'],
      signal: 'SIGKILL',
      fault: holding('quin@alpha.example'),
      isDue: ({ held, checkpoint }) => held > 0 && rowsIn(checkpoint) >= 3,
    },
    next: [{ args: ['run', '--shard', '1/2'], code: 0 }],
  },
  {
    name: 'killed-shard-after-a-pilot',
    job: shards,
    before: [{ args: ['run', '--limit', '6'] }, { args: ['run', '--limit', '19', '--shard', '0/2'] }],
    ended: {
      args: ['run', '--limit', '19', '--shard', '1/2'],
      signal: 'SIGKILL',
      fault: holding('quin@alpha.example'),
      isDue: ({ held, checkpoint }) => held > 0 && rowsIn(checkpoint) >= 3,
    },
    next: [{ args: ['run', '--limit', '19', '--shard', '1/2'], code: 0 }],
  },
];
