import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LoadGate } from '../../../src/service/guards/load-gate.ts';
import { makeKey, makeStore, serveStore, type Reply } from '../harness.ts';

const WORK_MS = 2;
const READ_MS = 0.05;
const REFUSAL_MS = 0.1;
const LINE_MS = 100;

it('under any load an admitted request has queued for two turns at most, and most of the time goes into answers', async () => {
  let nowMs = 0;
  const gate = new LoadGate({ inFlight: 1e9, lineMs: LINE_MS }, () => nowMs);
  let admitted = 0;
  let longestTurnMs = 0;
  // Five times the load that can be served: a turn admits the arrivals of the turn before it.
  let arrived = 10;
  for (let turn = 0; turn < 60; turn++) {
    const beganMs = nowMs;
    for (let n = 0; n < arrived; n++) {
      const request = {};
      if (gate.enter(request, nowMs) !== null) {
        nowMs += REFUSAL_MS;
        continue;
      }
      nowMs += READ_MS;
      gate.stand((refusal) => {
        gate.leave(request);
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

it('the requests of a turn are served at its end in the order of arrival, and the gate reports when they are done', async () => {
  const told: string[] = [];
  const gate = new LoadGate(
    { inFlight: 100, lineMs: LINE_MS },
    () => 0,
    () => told.push('served'),
  );
  for (const name of ['first', 'second']) {
    expect(gate.enter({}, 0)).toBeNull();
    // A request that arrives while others are served belongs to the next turn.
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

it('one slow request does not count as overload', async () => {
  let nowMs = 0;
  const gate = new LoadGate({ inFlight: 100, lineMs: LINE_MS }, () => nowMs);
  /** A turn of two requests. The second one has queued for `ms`. */
  const turn = async (ms: number) => {
    const first = gate.enter({}, nowMs);
    nowMs += ms;
    const second = gate.enter({}, nowMs);
    await nextTurn();
    return [first, second];
  };
  for (const ms of [5 * LINE_MS, 2 * LINE_MS, 2 * LINE_MS]) expect(await turn(ms)).toEqual([null, null]);
  expect(gate.lastTurnMs).toBe(2 * LINE_MS);
  // Many slow turns in a row do.
  expect(await turn(2 * LINE_MS)).toEqual([null, 'line']);
  expect(await turn(1)).toEqual([null, null]);
  expect(await turn(2 * LINE_MS)).toEqual([null, null]);
});

it('an overloaded service keeps its limit in flight, refuses the rest at once with all headers, and reports itself alive', async () => {
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
    // A refused request takes nothing of the quota.
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(1_000 - 8);
  }
  await service.close(AbortSignal.abort());
  await Promise.all(answers);
  expect([refused.length, service.look().inFlight]).toEqual([32, 0]);
});
