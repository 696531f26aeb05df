import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { VerificationResult } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { VERIFY_BATCH } from '../../src/processor/verify.ts';
import type { QuarantineState } from '../../src/lookup/miss-quarantine.ts';
import { emailsIn, GAVE_UP, MISS, REFUSED, SUPPRESSED, verdicts, type Bench } from './bench.ts';
import { addresses, answerAll, answersIn, inWords, makeStep } from './verify-bench.ts';

describe('VerifyStep', () => {
  it('fills its requests to exactly a thousand different addresses, in the order they came', () => {
    const { bench, step, ask } = makeStep();
    const all = addresses(2 * VERIFY_BATCH + 300);
    for (const email of all) {
      ask(email);
      ask(email);
    }
    expect(bench.bodies.verify.map(emailsIn)).toEqual([all.slice(0, 1_000), all.slice(1_000, 2_000)]);
    expect([step.lookupsWaiting, step.callsPending]).toEqual([300, 2]);
    step.flush();
    step.flush();
    expect(emailsIn(bench.bodies.verify[2] as string)).toEqual(all.slice(2_000));
    expect(bench.bodies.verify).toHaveLength(3);
  });

  it('answers each record with the verdict of its own address, from one call or from the ledger', () => {
    const asks = fc.array(fc.tuple(fc.nat(15), fc.constantFrom('ask', 'ask', 'ask', 'answer', 'flush')), { maxLength: 120 });
    fc.assert(
      fc.property(asks, (steps) => {
        const { bench, step, ask } = makeStep({ batch: 5 });
        const got: [string, LookupOutcome<VerificationResult>[]][] = [];
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
        expect(
          bench.kept
            .flat()
            .map(({ key }) => key)
            .sort(),
        ).toEqual(sent.toSorted());
        // All answers of one request are put together: they become durable together.
        expect(bench.kept).toHaveLength(bench.bodies.verify.length);
        expect(step.callsPending).toBe(0);
      }),
    );
  });

  it('asks for an address as the first record spells it, keeps the key, and asks the same in a run that resumes', () => {
    const spelled = ['Jane.Doe@example.com', 'jane.doe@example.com', 'bob@example.com', 'JANE.DOE@example.com'];
    const run = (): { bench: Bench; got: LookupOutcome<VerificationResult>[] } => {
      const { bench, step } = makeStep({ batch: 2 });
      const got: LookupOutcome<VerificationResult>[] = [];
      for (const text of spelled) step.ask({ key: text.toLowerCase(), spelled: text }, (outcome) => got.push(outcome));
      return { bench, got };
    };
    const { bench, got } = run();
    expect(bench.bodies.verify.map(emailsIn)).toEqual([['Jane.Doe@example.com', 'bob@example.com']]);
    expect(run().bench.bodies.verify).toEqual(bench.bodies.verify);
    answerAll(bench, (emails) => verdicts(emails, () => 'deliverable'));
    expect(got.map((outcome) => outcome.kind === 'hit' && outcome.answer.record.email)).toEqual([
      'jane.doe@example.com',
      'jane.doe@example.com',
      'jane.doe@example.com',
      'bob@example.com',
    ]);
    expect(bench.kept.flat().map(({ key }) => key)).toEqual(['jane.doe@example.com', 'bob@example.com']);
    expect(JSON.stringify(bench.kept)).not.toContain('Jane');
  });

  it('asks for left-out and halved addresses in the same spelling', () => {
    const { bench, step } = makeStep();
    for (const text of ['Jane@example.com', 'Bob@example.com']) step.ask({ key: text.toLowerCase(), spelled: text }, () => undefined);
    step.flush();
    bench.next().settle(verdicts(['Bob@example.com'], () => 'deliverable'));
    expect(emailsIn(bench.bodies.verify.at(-1) as string)).toEqual(['Jane@example.com']);
    const other = makeStep();
    for (const text of ['Jane@example.com', 'Bob@example.com']) other.step.ask({ key: text.toLowerCase(), spelled: text }, () => undefined);
    other.step.flush();
    other.bench.next().settle(REFUSED);
    expect(other.bench.bodies.verify.slice(1).map(emailsIn)).toEqual([['Jane@example.com'], ['Bob@example.com']]);
  });

  it('keeps an unknown verdict for this run only', () => {
    const { bench, step, ask } = makeStep();
    ask('a@example.com');
    ask('b@example.com');
    step.flush();
    answerAll(bench, (emails) => verdicts(emails, (email) => (email.startsWith('a') ? 'unknown' : 'risky')));
    expect(bench.kept.flat().map(({ key, answer }) => [key, answer.kind])).toEqual([
      ['a@example.com', 'unsettled'],
      ['b@example.com', 'hit'],
    ]);
    expect(inWords(ask('a@example.com'))).toBe('unknown');
  });

  it('finds refused addresses by halving, and loses no other', () => {
    const scenario = fc
      .integer({ min: 1, max: 300 })
      .chain((n) => fc.tuple(fc.constant(n), fc.uniqueArray(fc.nat(n - 1), { maxLength: 6 }), fc.constantFrom(REFUSED, SUPPRESSED)));
    fc.assert(
      fc.property(scenario, ([n, offending, refusal]) => {
        const { bench, step, ask } = makeStep();
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

  it('reads from an answer about many that one person asked to be removed, and never asks for that address again', () => {
    const { bench, step, ask } = makeStep();
    const got = addresses(3).map((email) => ask(email));
    step.flush();
    const calls = answerAll(bench, (emails) => {
      const said = verdicts(emails, () => 'unknown');
      const byEmail = new Map(
        emails.map((email) => [
          email,
          { email, result: 'unknown', confidence: 0, reason: email.startsWith('p1') ? 'suppressed_person' : 'pending', retry_at: null },
        ]),
      );
      return { ...said, value: { byEmail } } as typeof said;
    });
    expect([calls, got.map(inWords), inWords(ask('p1@example.com'))]).toEqual([1, ['unknown', 'suppressed', 'unknown'], 'suppressed']);
    expect(bench.kept.map((entries) => entries.map(({ key, answer }) => `${key} ${answer.kind}`).sort())).toEqual([
      ['p0@example.com unsettled', 'p1@example.com suppressed', 'p2@example.com unsettled'],
    ]);
  });

  it('asks once more for an address that an answer leaves out, and then fails it alone', () => {
    const { bench, step, ask } = makeStep();
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
    expect(answersIn(bench).find(({ key }) => key === 'p3@example.com')?.answer).toEqual({
      kind: 'failed',
      code: 'no_result',
      attempts: 2,
      requestId: 'r2',
    });
  });

  it('asks once more with another Idempotency-Key when an answer leaves out all addresses, because the service replays the first', () => {
    const { bench, step, ask } = makeStep();
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
    const { bench, step, ask } = makeStep();
    const got = addresses(100).map((email) => ask(email));
    step.flush();
    expect(answerAll(bench, (emails) => (emails.includes('p3@example.com') ? GAVE_UP : verdicts(emails, () => 'risky')))).toBeLessThan(20);
    expect(got.map(inWords)).toEqual(addresses(100).map((email) => (email === 'p3@example.com' ? 'http_500' : 'risky')));
  });

  it('fails each address when every request uses up its attempts', () => {
    const { bench, step, ask } = makeStep();
    const got = addresses(10).map((email) => ask(email));
    step.flush();
    expect(answerAll(bench, () => GAVE_UP)).toBe(19);
    expect(got.map(inWords)).toEqual(addresses(10).map(() => 'http_500'));
    expect(got[0]).toEqual([{ kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r6' }]);
    expect(inWords(ask('p0@example.com'))).toBe('http_500');
  });

  it('delivers once what the run before held back, in the same form and without a call, and asks for the rest', () => {
    const answers = fc.constantFrom(MISS, SUPPRESSED, REFUSED);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 9 }), answers, (some, answer) => {
        const emails = some.map((i) => `p${i}@example.com`);
        const whole = makeStep({ trusted: false, batch: 1 });
        const expected = emails.map((email) => whole.ask(email));
        answerAll(whole.bench, () => answer);
        const { quarantine: gate } = whole.bench.context;
        const { bench, step, ask } = makeStep({ ...(JSON.parse(JSON.stringify(gate.trust)) as QuarantineState), batch: 1 });
        gate.release();
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
    const { bench, step, ask } = makeStep();
    const got = addresses(4).map((email) => ask(email));
    step.flush();
    const replayed = new Map<string | undefined, ReturnType<typeof verdicts>>();
    const sizes: number[] = [];
    while (bench.asked.length > 0) {
      const call = bench.next();
      const emails = emailsIn(call.body);
      sizes.push(emails.length);
      // A service that honours the key repeats its answer about p1, and knows more about p2 under another key.
      const said =
        replayed.get(call.idempotencyKey) ??
        verdicts(emails.filter((email) => !email.startsWith('p1') && (sizes.length > 1 || !email.startsWith('p2'))));
      replayed.set(call.idempotencyKey, said);
      call.settle(said);
    }
    expect(sizes).toEqual([4, 2]);
    expect(got.map(inWords)).toEqual(['deliverable', 'no_result', 'deliverable', 'deliverable']);
  });

  it('stops a job whose every request is refused, and stores no answer', () => {
    const { bench, step, ask } = makeStep({ trusted: false });
    for (const email of addresses(1_000)) ask(email);
    step.flush();
    while (bench.asked.length > 0 && bench.distrusted.length === 0) bench.next().settle(REFUSED);
    expect(bench.distrusted).toEqual(['100 422 validation_failed']);
    expect(answersIn(bench)).toEqual([]);
  });

  it('holds a refused address back until anything else is answered', () => {
    const { bench, step, ask } = makeStep({ trusted: false });
    const [first, second] = [ask('a@example.com'), ask('b@example.com')];
    step.flush();
    bench.next().settle(REFUSED);
    bench.next().settle(REFUSED);
    expect([first, answersIn(bench)]).toEqual([[], []]);
    bench.next().settle(verdicts(['b@example.com']));
    expect([inWords(first), inWords(second)]).toEqual(['validation_failed', 'deliverable']);
  });
});
