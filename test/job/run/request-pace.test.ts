import { expect, test } from 'vitest';
import { Counters } from '../../../src/job/run/counters.ts';
import { requestPace } from '../../../src/job/run/request-pace.ts';
import type { RequestPace } from '../../../src/lookup/step-context.ts';

/** Events and writes of a run, in order. */
function open(keepTotals: () => Promise<void> = async () => undefined): {
  pace: RequestPace;
  counters: Counters;
  did: string[];
  failed: unknown[];
} {
  const counters = new Counters(null, () => 0);
  const did: string[] = [];
  const failed: unknown[] = [];
  const pace = requestPace({
    step: 'verify',
    timeoutMs: 30_000,
    largest: 1_000,
    isProven: false,
    counters,
    notices: {
      smallerRequests: (_step, size, why) => void did.push(`smaller: ${size}, they ${why}`),
      largerRequests: (_step, size) => void did.push(`larger: ${size}`),
    },
    keepAnswers: async () => void did.push(`answers, while a checkpoint has ${counters.requestSize('verify').kept?.size ?? 'nothing'}`),
    keepTotals: () => {
      did.push(`checkpoint with ${counters.requestSize('verify').kept?.size ?? 'nothing'}`);
      return keepTotals();
    },
    onFatal: (error) => failed.push(error),
  });
  return { pace, counters, did, failed };
}

const tooLarge = ({ sizes, tooLarge: tell }: RequestPace, addresses: number): void =>
  tell('ran into the time limit of 30 s', sizes.tooLarge(addresses, 1));

test('a new request size is in the checkpoint only once the ledger has the answers of the size before', async () => {
  const { pace, counters, did } = open();
  tooLarge(pace, 1_000);
  await new Promise<void>((resolve) => pace.keep(true, resolve));
  expect(did).toEqual([
    'smaller: 500, they ran into the time limit of 30 s',
    'answers, while a checkpoint has nothing',
    'checkpoint with 500',
  ]);
  expect(counters.requestSize('verify')).toEqual({ tooLarge: 1, kept: { size: 500, most: null } });
});

test('requests that were too large at the same moment are each counted, and reported once', () => {
  const { pace, counters, did } = open();
  for (let i = 0; i < 3; i++) tooLarge(pace, 1_000);
  expect([counters.requestSize('verify').tooLarge, did]).toEqual([3, ['smaller: 500, they ran into the time limit of 30 s']]);
});

test('a checkpoint that cannot be written ends the run, and no further request is sent', async () => {
  const full = new Error('ENOSPC');
  const { pace, failed } = open(() => Promise.reject(full));
  let sent = false;
  pace.keep(false, () => (sent = true));
  await new Promise(setImmediate);
  expect([failed, sent]).toEqual([[full], false]);
});

test('a finished run drops a request size that only its short input caused', () => {
  const { pace, counters } = open();
  pace.note(true);
  expect(counters.requestSize('verify').kept).toBeNull();
  pace.sizes.answered(10, 50);
  pace.note(false);
  expect(counters.requestSize('verify').kept).toMatchObject({ size: 16 });
  pace.note(true);
  expect(counters.requestSize('verify').kept).toBeNull();
  tooLarge(pace, 16);
  pace.note(true);
  expect(counters.requestSize('verify').kept).toMatchObject({ size: 8 });
});
