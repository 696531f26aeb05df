import type { PlanWindow } from '../../../../src/client/quota/quota-reading.ts';
import { answerOf } from '../../virtual.ts';
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ALONE_AFTER_MS, Pod } from '../../../../src/limiter/rules/shared/pod.ts';
import { PERMIT_LEASE_MS, type PodTurnReply } from '../../../../src/limiter/rules/shared/messages.ts';
import type { RateReading } from '../../../../src/limiter/inference/rate-reading.ts';
import { casesOf } from '../../../support/sample.ts';

const NINE_LEFT: PlanWindow = { limit: null, remaining: 9, reset: null };

const EPOCH = Date.UTC(2036, 6, 15, 12);
const member = (): Pod => new Pod({ pod: 'a', rpm: 1_000, windows: [], podsAtLeast: 1 });
const reply = (nowMs: number, grants: PodTurnReply['grants'] = [], more: Partial<PodTurnReply> = {}): PodTurnReply => ({
  nowMs: EPOCH + nowMs,
  leader: 'a~0',
  share: 0.25,
  spent: 0,
  freeAtMs: 0,
  grants,
  ...more,
});

describe('a pod that shares a quota', () => {
  it('uses no permit that was granted more than a lease ago, however late it hears of it or wakes, and says that it did not', () => {
    const ms = fc.nat({ max: 3 * PERMIT_LEASE_MS });
    fc.assert(
      fc.property(ms, ms, ms, ms, (askedMs, wayMs, heldMs, backMs) => {
        const pod = member();
        pod.turn('a~0', 1, askedMs);
        // Granted, held by the store, fetched by this turn, and heard of.
        const grantedMs = Math.max(0, askedMs + wayMs - heldMs);
        pod.applyReply(reply(askedMs + wayMs, [{ id: '1', atMs: EPOCH + grantedMs }]), askedMs + wayMs + backMs);
        for (let now = askedMs + wayMs + backMs; now < grantedMs + 3 * PERMIT_LEASE_MS; now += 50)
          if (now >= grantedMs + PERMIT_LEASE_MS) expect(pod.permits(now).permits).toBe(0);
        expect(pod.turn('a~0', 1, grantedMs + 9 * PERMIT_LEASE_MS).events).toContainEqual({ kind: 'unsent', ids: ['1'] });
      }),
    );
  });

  it('asks for what waits and for what it is likely to use, less what it has', () => {
    const pod = member();
    expect(pod.turn('a~0', 7, 0)).toMatchObject({ want: 7, inFlight: 0, spent: 0 });
    pod.applyReply(
      reply(
        5,
        ['1', '2', '3'].map((id) => ({ id, atMs: EPOCH + 5 })),
      ),
      10,
    );
    pod.sent(1, 10);
    expect(pod.turn('a~0', 6, 20)).toMatchObject({ want: 5, inFlight: 3, spent: 1 });
  });

  it('tells again what may not have arrived, and what it has left of what was granted', () => {
    const pod = member();
    pod.turn('a~0', 2, 0);
    pod.applyReply(
      reply(
        1,
        ['1', '2', '3'].map((id) => ({ id, atMs: EPOCH })),
      ),
      2,
    );
    pod.sent(1, 3);
    pod.sent(2, 3);
    pod.answered({ ...answerOf(1, 60, null), sentMs: 3, plan: NINE_LEFT });
    const answer = {
      kind: 'answer',
      id: '1',
      plan: NINE_LEFT,
      throttled: false,
      waitMs: null,
      failed: false,
      ownMs: 57,
    };
    expect(pod.turn('a~0', 0, 70).events).toEqual([answer]);
    pod.failed(1_070);
    expect(pod.turn('a~0', 0, 1_071).events).toEqual([
      answer,
      { kind: 'unsent', ids: ['3'] },
      { kind: 'join', pod: 'a', apart: [], has: ['2'] },
    ]);
  });

  it('returns the permit of a call that was not sent, and counts it as in flight no more', () => {
    const pod = member();
    pod.turn('a~0', 1, 0);
    pod.applyReply(reply(1, [{ id: '1', atMs: EPOCH }]), 2);
    pod.sent(1, 3);
    pod.withdrawn(1, 4);
    expect(pod.turn('a~0', 0, 5)).toMatchObject({ inFlight: 0, events: [{ kind: 'unsent', ids: ['1'] }] });
  });

  it('goes by its part of the plan when the store has been gone for a while, and not at once when it was itself that stood still', () => {
    const pod = member();
    pod.turn('a~0', 1, 0);
    pod.applyReply(reply(0), 1);
    pod.turn('a~0', 1, 10);
    // A minute later: it was paused, and first hears that nobody answered.
    pod.failed(60_000);
    expect(pod.standing).toBe('shared');
    pod.turn('a~0', 1, 60_250);
    pod.failed(60_000 + ALONE_AFTER_MS);
    expect([pod.standing, pod.ownRpm, pod.permits(66_000).permits]).toEqual(['alone', 250, 1]);
    pod.sent(1, 66_001);
    expect(pod.turn('a~0', 1, 66_500).events.at(-1)).toEqual({ kind: 'join', pod: 'a', apart: [[499, 0]], has: [] });
    pod.applyReply(reply(66_510), 66_520);
    expect([pod.standing, pod.permits(66_520).permits]).toEqual(['shared', 0]);
  });

  it('alone at first takes no more than what it had used, and its part of what nobody had', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 1_000 }), (own, others) => {
        const pod = member();
        pod.turn('a~0', own, 0);
        pod.applyReply(
          reply(
            0,
            Array.from({ length: own }, (_, i) => ({ id: String(i), atMs: EPOCH })),
            { spent: own + others },
          ),
          1,
        );
        let callNumber = 0;
        const call = (now: number, reading: RateReading | null): void => {
          pod.sent(++callNumber, now);
          pod.answered({ ...answerOf(callNumber, now + 1, reading), sentMs: now });
        };
        for (let i = 0; i < own; i++) call(2, null);
        pod.turn('a~0', 1, 10);
        pod.failed(20);
        pod.failed(20 + ALONE_AFTER_MS);
        let sent = 0;
        for (let now = 3_000; now < 60_000; now += 100) {
          const permits = Math.min(pod.permits(now).permits, 50);
          for (let i = 0; i < permits; i++, sent++)
            call(now, { remaining: 900, limit: 1_000, resetMs: 60_000, resetSlackMs: 0, resetIsSure: true, unlimited: false });
        }
        expect(sent).toBeLessThanOrEqual(Math.max(1, Math.floor((1_000 - own - others) / 4)));
      }),
      { numRuns: casesOf(6, 20) },
    );
  });
});
