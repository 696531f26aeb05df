import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { recordBytes, RecordLoop } from '../../../src/job/run/loop.ts';
import type { RunState } from '../../../src/job/run/run-state.ts';
import type { WatchedStep } from '../../../src/processor/open-steps.ts';
import type { RecordListener } from '../../../src/processor/process-record.ts';
import { csvRecord, jsonRecord } from '../../writer/samples.ts';

describe('the size of a record', () => {
  it('grows with each character, and is never 0', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 10 }), fc.string(), (values, more) => {
        const size = recordBytes(csvRecord(values));
        expect(size).toBeGreaterThan(0);
        expect(recordBytes(csvRecord([...values, '']))).toBeGreaterThan(size);
        expect(recordBytes(csvRecord([...values, more])) - recordBytes(csvRecord([...values, '']))).toBe(more.length);
        expect(recordBytes(jsonRecord(more)) - recordBytes(jsonRecord(''))).toBe(more.length);
      }),
    );
  });
});

/** A step whose requests end when the test says so. */
class FakeStep {
  readonly sent: number[] = [];
  callsInFlight = 0;
  lookupsWaiting = 0;
  readonly groupsIncomplete = 0;
  readonly answersPending = null;

  get callsPending(): number {
    return this.callsInFlight;
  }

  flush(): void {
    this.sent.push(this.lookupsWaiting);
    this.lookupsWaiting = 0;
    this.callsInFlight++;
  }

  giveUpOnMissing(): void {}
  giveUp(): void {}
  stop(): void {}
}

/** A loop whose first record gets no result. @param records enough of them fill the window */
async function standingLoop(
  records: number,
  hasLateAnswers = false,
): Promise<{
  readonly loop: RecordLoop;
  readonly enrich: FakeStep;
  readonly verify: FakeStep;
  readonly asked: number[];
  readonly end: () => Promise<void>;
}> {
  const [enrich, verify, asked]: [FakeStep, FakeStep, number[]] = [new FakeStep(), new FakeStep(), []];
  const watched: WatchedStep[] = [enrich, verify].map((step) => ({ provider: 'p', step }));
  enrich.callsInFlight = 2;
  let first: RecordListener | null = null;
  const done = { outcome: 'no_match' } as Parameters<RecordListener['done']>[0];
  async function* input(): AsyncGenerator<ReturnType<typeof csvRecord>[]> {
    yield Array.from({ length: records }, () => csvRecord(['a@x.example']));
  }
  const nothing = (): null => null;
  const loop = new RecordLoop({
    state: { isStopping: false, stopping: new AbortController().signal, whenStopping: new Promise(() => undefined) } as unknown as RunState,
    records: input(),
    limit: Infinity,
    processor: { process: (_record, number, listener) => (number === 0 ? (first = listener) : listener.done(done)) },
    steps: { at: {}, watched },
    hasLateAnswers,
    ledger: { room: nothing, waiting: 0 },
    pool: { room: nothing },
    quarantine: { size: 0, release: () => undefined, askAgainNow: () => asked.push(enrich.callsInFlight) },
    isServiceInDoubt: () => false,
    writer: { write: () => undefined, room: nothing },
    counters: { written: () => undefined },
    notices: { surplus: () => undefined, tooLong: () => undefined, unclosed: () => undefined, cleaned: () => undefined },
  });
  const run = loop.run();
  await new Promise((resolve) => setImmediate(resolve));
  return {
    loop,
    enrich,
    verify,
    asked,
    end: async () => {
      first?.done(done);
      await run;
    },
  };
}

const FULL = 20_000;

describe('while the reader waits', () => {
  it('a full window does not keep a partial request waiting for calls of another step', async () => {
    const { loop, verify, end } = await standingLoop(FULL);
    verify.lookupsWaiting = 3;
    loop.flushIfIdle();
    verify.lookupsWaiting = 2;
    loop.flushIfIdle();
    // Its own request is in flight.
    expect(verify.sent).toEqual([3]);
    await end();
  });

  it('the window has a number of records, and of late answers as many as its bytes allow', async () => {
    const [usual, late, endless] = await Promise.all([standingLoop(FULL), standingLoop(FULL, true), standingLoop(100_000, true)]);
    expect([usual.loop.inProgress, late.loop.inProgress]).toEqual([16_384, FULL]);
    expect(endless.loop.inProgress).toBeGreaterThan(FULL);
    expect(endless.loop.inProgress).toBeLessThan(50_000);
    await Promise.all([usual, late, endless].map(({ end }) => end()));
  });

  it('a partial request at the end of the input waits for all other calls, which may still fill it', async () => {
    const { loop, enrich, verify, end } = await standingLoop(10);
    verify.lookupsWaiting = 3;
    loop.flushIfIdle();
    enrich.callsInFlight = 1;
    loop.flushIfIdle();
    expect(verify.sent).toEqual([]);
    enrich.callsInFlight = 0;
    loop.flushIfIdle();
    expect(verify.sent).toEqual([3]);
    await end();
  });

  it('a 404 that comes when the window is full already is asked about once more at once, and not at the end of the input', async () => {
    for (const [records, times] of [
      [FULL, 2],
      [10, 0],
    ] as const) {
      const { loop, asked, end } = await standingLoop(records);
      loop.flushIfIdle();
      expect(asked).toHaveLength(times);
      await end();
    }
  });
});
