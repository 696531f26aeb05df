import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/ledger.ts';
import type { RequestPace } from '../../src/processor/context.ts';
import { RequestSize, type KeptSize } from '../../src/processor/request-size.ts';
import { VERIFY_BATCH, VerifyStep, type VerifyOutcome } from '../../src/processor/verify.ts';
import type { Trust } from '../../src/processor/trust-gate.ts';
import { emailsIn, GAVE_UP, makeBench, MISS, REFUSED, SUPPRESSED, verdicts, type Bench } from './bench.ts';

const SCOPE = 3;

function make(options: Partial<Trust> & { batch?: number; patienceMs?: number } = {}): { bench: Bench; step: VerifyStep; ask: (email: string) => VerifyOutcome[] } {
  const bench = makeBench(options);
  const step = new VerifyStep(bench.context, SCOPE, { patienceMs: options.patienceMs ?? 0, ...(options.batch === undefined ? {} : { batch: options.batch }) });
  return {
    bench,
    step,
    ask: (email) => {
      const got: VerifyOutcome[] = [];
      step.ask(email, (outcome) => got.push(outcome));
      return got;
    },
  };
}

const addresses = (n: number): string[] => Array.from({ length: n }, (_, i) => `p${i}@example.com`);

function inWords([outcome, ...more]: readonly VerifyOutcome[]): string {
  if (outcome === undefined || more.length > 0) return `${more.length === 0 ? 0 : more.length + 1} outcomes`;
  return outcome.kind === 'verdict' ? outcome.answer.record.result : outcome.kind === 'failed' ? outcome.code : outcome.kind;
}

/** What the ledger was given, without what is only being asked for. */
const answersIn = (bench: Bench): LedgerEntry[] => bench.kept.flat().filter(({ answer }) => answer.kind !== 'asking');

/** Answers calls until none is left. */
function answerAll(bench: Bench, answer: (emails: readonly string[]) => Parameters<Bench['asked'][number]['settle']>[0]): number {
  let calls = 0;
  for (; bench.asked.length > 0; calls++) {
    const call = bench.next();
    call.settle(answer(emailsIn(call.body)));
  }
  return calls;
}

describe('VerifyStep', () => {
  it('fills its requests to exactly a thousand different addresses, in the order they came', () => {
    const { bench, step, ask } = make();
    const all = addresses(2 * VERIFY_BATCH + 300);
    for (const email of all) {
      ask(email);
      ask(email);
    }
    expect(bench.bodies.verify.map(emailsIn)).toEqual([all.slice(0, 1_000), all.slice(1_000, 2_000)]);
    expect([step.addressesWaiting, step.callsPending]).toEqual([300, 2]);
    step.flush();
    step.flush();
    expect(emailsIn(bench.bodies.verify[2] as string)).toEqual(all.slice(2_000));
    expect(bench.bodies.verify).toHaveLength(3);
  });

  it('answers each record with the verdict of its own address, from one call or from the ledger', () => {
    const asks = fc.array(fc.tuple(fc.nat(15), fc.constantFrom('ask', 'ask', 'ask', 'answer', 'flush')), { maxLength: 120 });
    fc.assert(
      fc.property(asks, (steps) => {
        const { bench, step, ask } = make({ batch: 5 });
        const got: [string, VerifyOutcome[]][] = [];
        const answer = (): void => {
          const call = bench.next();
          call.settle(verdicts(emailsIn(call.body), (email) => `verdict on ${email}`));
        };
        for (const [n, what] of steps) {
          if (what === 'ask') got.push([`p${n}@example.com`, ask(`p${n}@example.com`)]);
          else if (what === 'flush') step.flush();
          else if (bench.asked.length > 0) answer();
        }
        step.flush();
        while (bench.asked.length > 0) answer();
        for (const [email, outcomes] of got) expect(inWords(outcomes)).toBe(`verdict on ${email}`);
        const sent = bench.bodies.verify.flatMap(emailsIn);
        expect(sent).toEqual([...new Set(got.map(([email]) => email))]);
        expect(bench.kept.flat().map(({ key }) => key).sort()).toEqual(sent.toSorted());
        // All answers of one request are put together: they become durable together.
        expect(bench.kept).toHaveLength(bench.bodies.verify.length);
        expect(step.callsPending).toBe(0);
      }),
    );
  });

  it('asks for an address as the first record spells it, keeps the key, and asks the same in a run that resumes', () => {
    const spelled = ['Jane.Doe@example.com', 'jane.doe@example.com', 'bob@example.com', 'JANE.DOE@example.com'];
    const run = (): { bench: Bench; got: VerifyOutcome[] } => {
      const { bench, step } = make({ batch: 2 });
      const got: VerifyOutcome[] = [];
      for (const text of spelled) step.ask(text.toLowerCase(), (outcome) => got.push(outcome), text);
      return { bench, got };
    };
    const { bench, got } = run();
    expect(bench.bodies.verify.map(emailsIn)).toEqual([['Jane.Doe@example.com', 'bob@example.com']]);
    expect(run().bench.bodies.verify).toEqual(bench.bodies.verify);
    answerAll(bench, (emails) => verdicts(emails, () => 'deliverable'));
    expect(got.map((outcome) => outcome.kind === 'verdict' && outcome.answer.record.email)).toEqual(['jane.doe@example.com', 'jane.doe@example.com', 'jane.doe@example.com', 'bob@example.com']);
    expect(bench.kept.flat().map(({ key }) => key)).toEqual(['jane.doe@example.com', 'bob@example.com']);
    expect(JSON.stringify(bench.kept)).not.toContain('Jane');
  });

  it('asks for what is left out, or halved, in the same spelling', () => {
    const { bench, step } = make();
    for (const text of ['Jane@example.com', 'Bob@example.com']) step.ask(text.toLowerCase(), () => undefined, text);
    step.flush();
    bench.next().settle(verdicts(['Bob@example.com'], () => 'deliverable'));
    expect(emailsIn(bench.bodies.verify.at(-1) as string)).toEqual(['Jane@example.com']);
    const other = make();
    for (const text of ['Jane@example.com', 'Bob@example.com']) other.step.ask(text.toLowerCase(), () => undefined, text);
    other.step.flush();
    other.bench.next().settle(REFUSED);
    expect(other.bench.bodies.verify.slice(1).map(emailsIn)).toEqual([['Jane@example.com'], ['Bob@example.com']]);
  });

  it('keeps a verdict that says nothing for this run only', () => {
    const { bench, step, ask } = make();
    ask('a@example.com');
    ask('b@example.com');
    step.flush();
    answerAll(bench, (emails) => verdicts(emails, (email) => (email.startsWith('a') ? 'unknown' : 'risky')));
    expect(bench.kept.flat().map(({ key, answer }) => [key, answer.kind])).toEqual([['a@example.com', 'unsettled'], ['b@example.com', 'hit']]);
    expect(inWords(ask('a@example.com'))).toBe('unknown');
  });

  it('finds the addresses that a service refuses, by halving, and loses no other', () => {
    const scenario = fc.integer({ min: 1, max: 300 }).chain((n) => fc.tuple(fc.constant(n), fc.uniqueArray(fc.nat(n - 1), { maxLength: 6 }), fc.constantFrom(REFUSED, SUPPRESSED)));
    fc.assert(
      fc.property(scenario, ([n, offending, refusal]) => {
        const { bench, step, ask } = make();
        const all = addresses(n);
        const bad = new Set(offending.map((i) => all[i]));
        const got = all.map((email) => ask(email));
        step.flush();
        const calls = answerAll(bench, (emails) => (emails.some((email) => bad.has(email)) ? refusal : verdicts(emails)));
        const expected = refusal === REFUSED ? 'validation_failed' : 'suppressed';
        expect(got.map(inWords)).toEqual(all.map((email) => (bad.has(email) ? expected : 'deliverable')));
        expect(calls).toBeLessThanOrEqual(1 + 2 * bad.size * Math.ceil(Math.log2(n + 1)));
        expect(answersIn(bench)).toHaveLength(n);
      }),
    );
  });

  it('takes from an answer about many that one of them asked to be removed, and asks nobody of them again', () => {
    const { bench, step, ask } = make();
    const got = addresses(3).map((email) => ask(email));
    step.flush();
    const calls = answerAll(bench, (emails) => {
      const said = verdicts(emails, () => 'unknown');
      const byEmail = new Map(emails.map((email) => [email, { email, result: 'unknown', confidence: 0, reason: email.startsWith('p1') ? 'suppressed_person' : 'pending', retry_at: null }]));
      return { ...said, value: { byEmail } } as typeof said;
    });
    expect([calls, got.map(inWords), inWords(ask('p1@example.com'))]).toEqual([1, ['unknown', 'suppressed', 'unknown'], 'suppressed']);
    expect(bench.kept.map((entries) => entries.map(({ key, answer }) => `${key} ${answer.kind}`).sort())).toEqual([['p0@example.com unsettled', 'p1@example.com suppressed', 'p2@example.com unsettled']]);
  });

  it('asks once more for what an answer leaves out, then fails it alone', () => {
    const { bench, step, ask } = make();
    const got = addresses(10).map((email) => ask(email));
    step.flush();
    const leftOut = new Set(['p3@example.com', 'p7@example.com']);
    const sizes: number[] = [];
    answerAll(bench, (emails) => {
      sizes.push(emails.length);
      return verdicts(emails.filter((email) => !leftOut.has(email) || (email === 'p7@example.com' && sizes.length === 2)));
    });
    expect(sizes).toEqual([10, 2]);
    expect(got.map(inWords)).toEqual(addresses(10).map((email) => (email === 'p3@example.com' ? 'no_result' : 'deliverable')));
    expect(answersIn(bench).find(({ key }) => key === 'p3@example.com')?.answer).toEqual({ kind: 'failed', code: 'no_result', attempts: 2, requestId: 'r2' });
  });

  it('asks once more when an answer leaves out all of them, with another Idempotency-Key: a service that knows the first repeats its answer', () => {
    const { bench, step, ask } = make();
    const got = addresses(3).map((email) => ask(email));
    step.flush();
    const keys: (string | undefined)[] = [];
    while (bench.asked.length > 0) {
      const call = bench.next();
      keys.push(call.idempotencyKey);
      call.settle(verdicts([]));
    }
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
    expect(new Set(bench.bodies.verify).size).toBe(1);
    expect(got.map(inWords)).toEqual(['no_result', 'no_result', 'no_result']);
    expect(step.callsPending).toBe(0);
  });

  it('halves a request whose attempts are used up, so that one address that breaks the service is lost alone', () => {
    const { bench, step, ask } = make();
    const got = addresses(100).map((email) => ask(email));
    step.flush();
    expect(answerAll(bench, (emails) => (emails.includes('p3@example.com') ? GAVE_UP : verdicts(emails, () => 'risky')))).toBeLessThan(20);
    expect(got.map(inWords)).toEqual(addresses(100).map((email) => (email === 'p3@example.com' ? 'http_500' : 'risky')));
  });

  it('fails each address when every request uses up its attempts', () => {
    const { bench, step, ask } = make();
    const got = addresses(10).map((email) => ask(email));
    step.flush();
    expect(answerAll(bench, () => GAVE_UP)).toBe(19);
    expect(got.map(inWords)).toEqual(addresses(10).map(() => 'http_500'));
    expect(got[0]).toEqual([{ kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r6' }]);
    expect(inWords(ask('p0@example.com'))).toBe('http_500');
  });

  it('is told once what the run before held back, as that would have been, without a call; the rest is asked for', () => {
    const answers = fc.constantFrom(MISS, SUPPRESSED, REFUSED);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 9 }), answers, (some, answer) => {
        const emails = some.map((i) => `p${i}@example.com`);
        const whole = make({ trusted: false, batch: 1 });
        const expected = emails.map((email) => whole.ask(email));
        answerAll(whole.bench, () => answer);
        const { gate } = whole.bench.context;
        const { bench, step, ask } = make({ ...(JSON.parse(JSON.stringify(gate.trust)) as Trust), batch: 1 });
        gate.releaseHeld();
        const got = emails.map((email) => ask(email));
        expect([got.flat(), bench.asked, bench.kept, step.callsPending]).toEqual([[], [], [], 0]);
        ask('another@example.com');
        expect(answerAll(bench, (asked) => verdicts(asked))).toBe(1);
        expect(got).toEqual(expected);
        expect(bench.kept.flat().slice(0, -1)).toEqual(whole.bench.kept.flat());
      }),
    );
  });

  it('asks for an address whose entry has no verdict once more, without those that have one, and then fails it', () => {
    const { bench, step, ask } = make();
    const got = addresses(4).map((email) => ask(email));
    step.flush();
    const replayed = new Map<string | undefined, ReturnType<typeof verdicts>>();
    const sizes: number[] = [];
    while (bench.asked.length > 0) {
      const call = bench.next();
      const emails = emailsIn(call.body);
      sizes.push(emails.length);
      // Such as a service that honours the key: what it said of p1 it says again, and of p2 it knows more by now.
      const said = replayed.get(call.idempotencyKey) ?? verdicts(emails.filter((email) => !email.startsWith('p1') && (sizes.length > 1 || !email.startsWith('p2'))));
      replayed.set(call.idempotencyKey, said);
      call.settle(said);
    }
    expect(sizes).toEqual([4, 2]);
    expect(got.map(inWords)).toEqual(['deliverable', 'no_result', 'deliverable', 'deliverable']);
  });

  it('stops a job whose every request is refused, with nothing kept', () => {
    const { bench, step, ask } = make({ trusted: false });
    for (const email of addresses(1_000)) ask(email);
    step.flush();
    while (bench.asked.length > 0 && bench.distrusted.length === 0) bench.next().settle(REFUSED);
    expect(bench.distrusted).toEqual(['100 422 validation_failed']);
    expect(bench.kept).toEqual([]);
  });

  it('holds a refused address back until anything else is answered', () => {
    const { bench, step, ask } = make({ trusted: false });
    const [first, second] = [ask('a@example.com'), ask('b@example.com')];
    step.flush();
    bench.next().settle(REFUSED);
    bench.next().settle(REFUSED);
    expect([first, bench.kept]).toEqual([[], []]);
    bench.next().settle(verdicts(['b@example.com']));
    expect([inWords(first), inWords(second)]).toEqual(['validation_failed', 'deliverable']);
  });
});

/** A step that finds out how large its requests may be. What a resume would begin with is kept when the test says so. */
function paced(options: { from?: KeptSize | null; patienceMs?: number } = {}) {
  const { from = null, patienceMs = 0 } = options;
  const bench = makeBench();
  const sizes = new RequestSize({ largest: VERIFY_BATCH, limitMs: 30_000, from });
  const said: string[] = [];
  const keeping: (() => void)[] = [];
  const pace: RequestPace = {
    sizes,
    limitMs: 30_000,
    tooLarge: (why, isSmaller) => said.push(`${why}: ${isSmaller ? sizes.size : 'as before'}`),
    note: (isDone) => said.push(`noted ${sizes.size}${isDone ? ', done' : ''}`),
    keep: (withAnswers, then) => {
      said.push(`kept ${sizes.size}${withAnswers ? ' with answers' : ''}`);
      keeping.push(then);
    },
  };
  const step = new VerifyStep(bench.context, SCOPE, { patienceMs, pace });
  const all = (n: number): VerifyOutcome[][] => addresses(n).map((email) => {
    const got: VerifyOutcome[] = [];
    step.ask(email, (outcome) => got.push(outcome));
    return got;
  });
  return { bench, step, said, all, kept: () => keeping.splice(0).forEach((then) => then()), sent: () => bench.bodies.verify.map((body) => emailsIn(body).length) };
}

const TIMEOUT = { code: 'timeout', detail: 'no answer within the time allowed', status: 0, latencyMs: 30_000 };

describe('VerifyStep at a slow service', () => {
  it('halves a request after its first timeout, sends the halves one after the other under other keys, and tells the size once', () => {
    const { bench, said, all, kept, sent } = paced();
    const got = all(2_000);
    expect(sent()).toEqual([1_000]);
    const first = bench.next();
    expect(first.fails(TIMEOUT)).toBe(true);
    expect(said).toEqual(['ran into the time limit of 30 s: 500', 'kept 500 with answers']);
    // Until a resume would begin with 500, nothing goes.
    expect(bench.asked).toEqual([]);
    kept();
    expect(sent()).toEqual([1_000, 500]);
    const half = bench.next();
    expect([emailsIn(half.body), half.idempotencyKey === first.idempotencyKey]).toEqual([addresses(500), false]);
    half.settle(verdicts(emailsIn(half.body)));
    kept();
    answerAll(bench, (emails) => verdicts(emails));
    kept();
    answerAll(bench, (emails) => verdicts(emails));
    expect(sent()).toEqual([1_000, 500, 500, 500, 500]);
    expect(new Set(got.map(inWords))).toEqual(new Set(['deliverable']));
    expect(said.filter((text) => text.startsWith('ran'))).toHaveLength(1);
  });

  it.each([
    ['a gateway that says 504', { code: 'http_504', detail: 'HTTP 504', status: 504, latencyMs: 60_000 }, 1],
    ['a service that says 408', { code: 'request_timeout', detail: 'too slow', status: 408, latencyMs: 9_000 }, 1],
    ['a connection that is cut late, twice', { code: 'network', detail: 'read ECONNRESET', status: 0, latencyMs: 20_000 }, 2],
  ])('takes %s for a time limit', (_what, failure, attempts) => {
    const { bench, said, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    const call = bench.next();
    for (let attempt = 1; attempt < attempts; attempt++) expect(call.fails(failure)).toBe(false);
    expect(call.fails(failure)).toBe(true);
    expect(said.at(-1)).toBe('kept 500 with answers');
  });

  it.each([
    ['a connection that never came about', { code: 'timeout', detail: 'no connection within the time allowed', status: 0, latencyMs: 10_000 }],
    ['one that was refused', { code: 'network', detail: 'connect ECONNREFUSED 127.0.0.1:9', status: 0, latencyMs: 1 }],
    ['a 500 that comes quickly', { code: 'http_500', detail: 'oops', status: 500, latencyMs: 20 }],
  ])('tries the same request again after %s', (_what, failure) => {
    const { bench, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    const call = bench.next();
    for (let attempt = 1; attempt < 5; attempt++) expect(call.fails(failure)).toBe(false);
  });

  it('lets an address that alone is too slow use up its attempts', () => {
    const { bench, step, all } = paced({ from: { size: 1_000, most: null } });
    all(1);
    step.flush();
    expect(bench.next().fails(TIMEOUT)).toBe(false);
  });

  it('keeps the size after a 413 as well, and asks nobody whether the service is one', () => {
    const { bench, said, all, kept, sent } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    bench.next().settle({ kind: 'failed', rejected: true, status: 413, code: 'payload_too_large', attempts: 1, requestId: null });
    kept();
    expect([sent(), said[0]]).toEqual([[1_000, 500], 'were refused as too large (HTTP 413): 500']);
  });

  it('a retry of pending verdicts is cut as well', () => {
    vi.useFakeTimers();
    try {
      const { bench, step, all, kept } = paced({ from: { size: 1_000, most: null }, patienceMs: 600_000 });
      const got = all(1_000);
      const late = (emails: readonly string[]): ReturnType<typeof verdicts> =>
        ({ ...verdicts(emails), value: { byEmail: new Map(emails.map((email) => [email, { email, result: 'unknown', confidence: 0, reason: 'greylisted' }])) } }) as ReturnType<typeof verdicts>;
      bench.next().settle(late(addresses(1_000)));
      vi.advanceTimersByTime(120_000);
      expect(bench.next().fails(TIMEOUT)).toBe(true);
      kept();
      expect(answerAll(bench, (emails) => verdicts(emails))).toBe(2);
      expect([new Set(got.map(inWords)), step.callsPending]).toEqual([new Set(['deliverable']), 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('what is learned from the last answer goes into the last checkpoint, and no other is written for it', () => {
    const { bench, step, said, all } = paced();
    all(300);
    step.flush();
    answerAll(bench, (emails) => verdicts(emails));
    expect([said, step.callsPending]).toEqual([[], 0]);
    step.stop();
    expect(said).toEqual(['noted 500, done']);
  });

  it('a run that is stopped leaves the size of now to the next one', () => {
    const { bench, step, said, all } = paced({ from: { size: 1_000, most: null } });
    all(1_000);
    step.stop();
    bench.next().fails(TIMEOUT);
    expect([said.at(-1), bench.asked]).toEqual(['noted 500', []]);
  });
});
