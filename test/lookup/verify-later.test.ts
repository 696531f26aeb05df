import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LookupOptions } from '../../src/client/provider-client.ts';
import { emailsIn, GAVE_UP, makeBench, MISS, verdicts } from './bench.ts';
import { submitRequest, type SentRequest } from '../../src/lookup/submit-request.ts';
import { addresses, inWords, makeStep } from './verify-bench.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pendingVerdicts = (emails: readonly string[]): ReturnType<typeof verdicts> => {
  const said = verdicts(emails, () => 'unknown');
  if (said.kind === 'ok') for (const record of said.value.byEmail.values()) Object.assign(record, { reason: 'greylisted' });
  return said;
};

describe('a verify request that is answered later', () => {
  it('goes out with its ticket, in the next run too, with the same addresses', () => {
    const first = makeStep({ batch: 2 });
    first.ask('a@example.com');
    first.ask('b@example.com');
    first.bench.next().promise('t1');
    expect(first.bench.asked.map(({ ticket }) => ticket)).toEqual(['t1']);
    expect(first.bench.kept.map((entries) => entries.map(({ key, answer }) => `${key} ${answer.kind}`))).toEqual([
      ['key of {"emails":["a@example.com","b@example.com"]} asking', 'a@example.com asking', 'b@example.com asking'],
    ]);
    const { bench, ask } = makeStep({ batch: 2 });
    for (const [key, answer] of first.bench.ledger) bench.ledger.set(key, answer);
    const got = [ask('a@example.com'), ask('c@example.com'), ask('b@example.com')];
    const call = bench.next();
    expect([emailsIn(call.body), call.ticket]).toEqual([['a@example.com', 'b@example.com'], 't1']);
    call.settle(verdicts(emailsIn(call.body)));
    expect(got.map(inWords)).toEqual(['deliverable', '0 outcomes', 'deliverable']);
    expect(bench.kept.flat().map(({ key, again }) => `${key.slice(0, 6)} ${again}`)).toEqual(['a@exam true', 'b@exam true', 'key of true']);
  });

  it('keeps its ticket for a retry when asking for its answer fails in the end: a new request would be paid again', () => {
    const { bench, ask } = makeStep({ batch: 2 });
    const got = [ask('a@example.com'), ask('b@example.com')];
    bench.next().promise('t1');
    bench.next().settle(GAVE_UP);
    expect(bench.asked).toEqual([]);
    expect(got.map(inWords)).toEqual(['http_500', 'http_500']);
  });
});

it('a verify request that the provider has taken is not made smaller because asking for its answer takes too long', () => {
  const { context, next } = makeBench();
  const ended: (string | null)[] = [];
  const request: SentRequest = {
    step: 'verify',
    keys: 2,
    origin: null,
    idempotencyKey: 'k',
    ticket: null,
    promise: null,
    lateAttempts: 1,
    limitMs: 1_000,
    send: (options: LookupOptions) => context.client.callVerify('{}', options),
    promised: () => undefined,
  };
  for (const isPromised of [false, true]) {
    submitRequest(context.pool, request, ({ tooLarge }) => ended.push(tooLarge));
    if (isPromised) next().promise('t1');
    const settled = next().fails({ code: 'timeout', detail: 'no answer', status: 0, latencyMs: 1_000 });
    expect(settled).toBe(!isPromised);
  }
  expect(ended).toEqual(['ran into the time limit of 1 s']);
});

describe('a verify provider that is given up', () => {
  it('settles each address once, now and later; a pending verdict counts as it is', () => {
    const { bench, step, ask } = makeStep({ batch: 2, pollForMs: 3_600_000 });
    const got = addresses(5).map(ask);
    bench.next().settle(pendingVerdicts(addresses(2)));
    const kept = bench.kept.length;
    step.giveUp('out_of_credits');
    expect(got.map(inWords)).toEqual(['unknown', 'unknown', 'out_of_credits', 'out_of_credits', 'out_of_credits']);
    const later = [ask('p0@example.com'), ask('p2@example.com'), ask('new@example.com')];
    expect(later.map(inWords)).toEqual(['unknown', 'out_of_credits', 'out_of_credits']);
    expect(later[2]).toEqual([{ kind: 'failed', code: 'out_of_credits', attempts: 0, requestId: null, unavailable: true }]);
    step.flush();
    vi.advanceTimersByTime(3_600_000);
    expect([bench.kept.length, step.callsPending, step.lookupsWaiting, step.answersPending, bench.asked.length]).toEqual([
      kept,
      0,
      0,
      null,
      1,
    ]);
    expect([...bench.claims]).toEqual([]);
  });

  it('settles addresses that the run before was asking for', () => {
    const { bench, step, ask } = makeStep();
    bench.ledger.set('3 a@example.com', { kind: 'asking', text: '["x",2,1]' });
    const got = ask('a@example.com');
    expect(step.groupsIncomplete).toBe(1);
    step.giveUp('down');
    expect([inWords(got), step.groupsIncomplete]).toEqual(['down', 0]);
    expect(inWords(ask('a@example.com'))).toBe('down');
  });

  it('leaves to the quarantine what it holds', () => {
    const { bench, step, ask } = makeStep({ trusted: false, batch: 1 });
    const got = ask('a@example.com');
    bench.next().settle(MISS);
    step.giveUp('down');
    expect(got).toEqual([]);
    bench.context.quarantine.release();
    expect(inWords(got)).toBe('miss');
  });

  it('does not wait for what other runs ask', () => {
    const { bench, step, ask } = makeStep();
    const claims: ((answer: null) => void)[] = [];
    const released = vi.spyOn(bench.context.ledger, 'release');
    Object.assign(bench.context.ledger, { ask: (_scope: number, _key: string, told: (answer: null) => void) => claims.push(told) });
    const got = ask('a@example.com');
    step.giveUp('down');
    released.mockClear();
    expect([inWords(got), step.callsPending]).toEqual(['down', 1]);
    for (const claim of claims) claim(null);
    expect([inWords(got), step.callsPending, step.lookupsWaiting]).toEqual(['down', 0, 0]);
    // It is claimed now, and this run asks nobody.
    expect(released.mock.calls).toEqual([[3, ['a@example.com']]]);
  });
});
