import type { Socket } from 'node:net';
import * as fc from '../../support/fast-check.ts';
import { expect, it, vi } from 'vitest';
import { LIMITS } from '../../../src/service/guards/limits.ts';
import { Readers, UNTOLD_BYTES } from '../../../src/service/guards/readers.ts';
import { cleanUp } from '../../support/clean-up.ts';

/** Readers on a test clock. Each has a connection that counts the bytes written and those not yet taken. */
function make() {
  const state = { nowMs: 0 };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  cleanUp(() => void vi.useRealTimers());
  const readers = new Readers(LIMITS, () => state.nowMs);
  const connect = () => {
    const line = { bytesWritten: 500, writableLength: 0, isClosed: false, destroy: () => void (line.isClosed = true) };
    const find = (bytes: number): void => {
      line.bytesWritten += bytes;
      line.writableLength += bytes;
    };
    return { line, find, socket: line as unknown as Socket };
  };
  const pass = (ms: number): void => {
    state.nowMs += ms;
    vi.advanceTimersByTime(ms);
  };
  return { readers, connect, pass };
}

const SLACK_S = LIMITS.stalledMs / 1_000;

it('a reader that takes available bytes at the minimum rate is never closed, and a slower one is closed after the slack', () => {
  const { readers, connect, pass } = make();
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 * LIMITS.transferBytesPerS }), fc.nat(5_000), (bytesPerS, quickS) => {
      const { line, find, socket } = connect();
      const over = readers.begin('k', socket);
      find(100_000);
      // The reader may have been quick before.
      for (let second = 0; second < quickS; second += 50) {
        line.bytesWritten += 50 * 1024 * 1024;
        pass(50_000);
      }
      let seconds = 0;
      for (; seconds < 3_000 && !line.isClosed; seconds++) {
        line.bytesWritten += bytesPerS;
        pass(1_000);
      }
      over();
      const slackS = SLACK_S + (quickS > 0 ? UNTOLD_BYTES / LIMITS.transferBytesPerS : 0);
      // A slow reader falls behind the bytes due. At one byte a second less than the rate that takes days.
      const dueAtS =
        bytesPerS >= LIMITS.transferBytesPerS ? Infinity : (slackS * LIMITS.transferBytesPerS) / (LIMITS.transferBytesPerS - bytesPerS);
      if (dueAtS > 3_000) expect(line.isClosed).toBe(false);
      else expect([line.isClosed || dueAtS > 2_998, seconds >= SLACK_S, seconds <= dueAtS + 2]).toEqual([true, true, true]);
    }),
    { numRuns: 50 },
  );
});

it('a reader that takes buffered bytes at the minimum rate is never closed, although the system reports only whole thirds', () => {
  const { readers, connect, pass } = make();
  fc.assert(
    fc.property(
      fc.integer({ min: LIMITS.transferBytesPerS, max: 5 * LIMITS.transferBytesPerS }),
      fc.integer({ min: 1, max: 4 * 1024 * 1024 }),
      fc.nat(SLACK_S - 5),
      (bytesPerS, held, stopS) => {
        const { line, find, socket } = connect();
        const over = readers.begin('k', socket);
        find(100_000);
        line.bytesWritten += held;
        let gone = 0;
        for (let second = 0; second < 2_000; second++) {
          // The reader pauses once.
          if (second < 500 || second >= 500 + stopS) gone += bytesPerS;
          if (gone >= held / 3) {
            line.bytesWritten += gone;
            gone = 0;
          }
          pass(1_000);
        }
        over();
        expect(line.isClosed).toBe(false);
      },
    ),
    { numRuns: 30, examples: [[LIMITS.transferBytesPerS, 4 * 1024 * 1024, SLACK_S - 5]] },
  );
});

it('a reader that has taken every available byte is never closed while no more arrive', () => {
  const { readers, connect, pass } = make();
  const { line, find, socket } = connect();
  readers.begin('k', socket);
  for (let second = 0; second < 5_000; second++) pass(1_000);
  expect(line.isClosed).toBe(false);
  find(10);
  for (let second = 0; second <= SLACK_S; second++) pass(1_000);
  expect(line.isClosed).toBe(true);
});

it('readers are limited per key and in total; an ended reader makes room once, and the last one leaves no timer behind', () => {
  const { readers, connect } = make();
  const begun = Array.from({ length: LIMITS.transfers }, (_, n) =>
    readers.begin(`k${Math.floor(n / LIMITS.transfersPerKey)}`, connect().socket),
  );
  const refused = expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '10' } });
  expect(() => readers.begin('another', connect().socket)).toThrow(refused as Error);
  begun[0]?.();
  begun[0]?.();
  expect(() => readers.begin('k1', connect().socket)).toThrow(refused as Error);
  begun.push(readers.begin('another', connect().socket));
  expect(() => readers.begin('another', connect().socket)).toThrow(refused as Error);
  for (const over of begun) over();
  expect(vi.getTimerCount()).toBe(0);
});
