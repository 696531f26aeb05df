import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LoadGate } from '../../../src/service/guard/load-gate.ts';
import { makeKey, makeStore, serveStore, type Reply } from '../harness.ts';

const WORK_MS = 2;
const READ_MS = 0.05;
const REFUSAL_MS = 0.1;
const LINE_MS = 100;

it('whatever is offered, who is let in has stood in line no longer than two turns, and most of the time goes into answers', async () => {
  let nowMs = 0;
  const gate = new LoadGate({ inFlight: 1e9, lineMs: LINE_MS }, () => nowMs);
  let admitted = 0;
  let longestTurnMs = 0;
  // Five times what can be done: a turn brings what arrived during the one before it.
  let arrived = 10;
  for (let turn = 0; turn < 60; turn++) {
    const beganMs = nowMs;
    for (let n = 0; n < arrived; n++) {
      if (gate.enter(nowMs) !== null) {
        nowMs += REFUSAL_MS;
        continue;
      }
      nowMs += READ_MS;
      gate.stand((refusal) => {
        gate.leave();
        if (refusal === null) admitted++;
        nowMs += refusal === null ? WORK_MS : REFUSAL_MS;
      });
    }
    await nextTurn();
    if (turn > 10) longestTurnMs = Math.max(longestTurnMs, nowMs - beganMs);
    arrived = Math.ceil(((nowMs - beganMs) * 5) / WORK_MS);
  }
  expect(longestTurnMs).toBeLessThan(2 * LINE_MS);
  expect(admitted * WORK_MS).toBeGreaterThan(nowMs * 0.65);
});

it('serves those of a turn in the order in which they came, at its end, and says when they are through', async () => {
  const told: string[] = [];
  const gate = new LoadGate({ inFlight: 100, lineMs: LINE_MS }, () => 0, () => told.push('served'));
  for (const name of ['first', 'second']) {
    expect(gate.enter(0)).toBeNull();
    // Whoever comes while others are served belongs to the next turn.
    gate.stand(() => {
      told.push(name);
      if (name === 'first') gate.stand(() => told.push('next'));
    });
  }
  expect(told).toEqual([]);
  await nextTurn();
  expect(told).toEqual(['first', 'second', 'served']);
  await nextTurn();
  expect(told).toEqual(['first', 'second', 'served', 'next', 'served']);
});

it('one slow request is no overload', async () => {
  let nowMs = 0;
  const gate = new LoadGate({ inFlight: 100, lineMs: LINE_MS }, () => nowMs);
  /** A turn of two requests, the second of which has stood in line for so long. */
  const turn = async (ms: number) => {
    const first = gate.enter(nowMs);
    nowMs += ms;
    const second = gate.enter(nowMs);
    await nextTurn();
    return [first, second];
  };
  for (const ms of [5 * LINE_MS, 2 * LINE_MS, 2 * LINE_MS]) expect(await turn(ms)).toEqual([null, null]);
  expect(gate.lastTurnMs).toBe(2 * LINE_MS);
  // Many in a row are.
  expect(await turn(2 * LINE_MS)).toEqual([null, 'line']);
  expect(await turn(1)).toEqual([null, null]);
  expect(await turn(2 * LINE_MS)).toEqual([null, null]);
});

it('at many times what it holds, a service keeps so many in flight and no more, refuses the rest at once with all its headers, and says that it lives', async () => {
  const store = await makeStore();
  const key = await makeKey(store, 'growth');
  const service = await serveStore({ store, faults: { latencyMs: 600_000 }, limits: { inFlight: 8 } });
  let refused: Reply[] = [];
  const answers = Array.from({ length: 40 }, async () => {
    const reply = await service.post('/v1/enrich', { id: 'pe_1' }, { key }).catch(() => null);
    if (reply !== null) refused = [...refused, reply];
  });
  await expect.poll(() => refused.length).toBe(32);
  expect(service.look()).toMatchObject({ inFlight: 8, meter: { shed: { in_flight: 32, line: 0 } } });
  expect(await Promise.all(['/healthz', '/readyz'].map(async (path) => (await service.request(path)).status))).toEqual([200, 200]);
  for (const { status, json, headers } of refused) {
    expect([status, json]).toEqual([503, expect.objectContaining({ code: 'overloaded', retryable: true })]);
    expect(['retry-after', 'x-ratelimit-limit', 'x-credits-charged'].map((name) => headers.get(name))).toEqual(['1', '1000', '0']);
    // What is refused takes nothing of the quota.
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(1_000 - 8);
  }
  await service.close(AbortSignal.abort());
  await Promise.all(answers);
  expect([refused.length, service.look().inFlight]).toEqual([32, 0]);
});
