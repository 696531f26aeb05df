import { hash } from 'node:crypto';
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { seeded } from '../../fixtures/generate/random.ts';
import type { SettledCall } from '../../src/pool/call-pool.ts';
import type { VerificationResult } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { verifyStep, type VerifyStep } from '../../src/processor/verify.ts';
import { emailsIn, GAVE_UP, makeBench, REFUSED, verdicts, type Asked, type Bench } from './bench.ts';

const SCOPE = 3;
const BATCH = 8;

/** How a service treats an address. `never` is left out of all answers; `refused`, `breaks` and `later` affect their whole request. */
const KINDS = ['fine', 'fine', 'fine', 'fine', 'left out', 'never', 'refused', 'breaks', 'pending', 'later'] as const;
type Kind = (typeof KINDS)[number];

type Answer = SettledCall<unknown> | { readonly promise: string };

/** A service that honours Idempotency-Key: it charges each verdict once for each key. */
class HonestService {
  readonly charged = new Map<string, number>();
  readonly #answers = new Map<string, { readonly body: string; readonly answer: Answer }>();
  /** Answers that come later, by ticket. */
  readonly #promised = new Map<string, SettledCall<unknown>>();
  readonly #seen = new Map<string, number>();
  readonly #kindOf: (email: string) => Kind;

  constructor(kindOf: (email: string) => Kind) {
    this.#kindOf = kindOf;
  }

  take({ body, idempotencyKey = '', ticket }: Asked): Answer {
    const promised = this.#promised.get(ticket ?? '');
    if (promised !== undefined) return promised;
    const before = this.#answers.get(idempotencyKey);
    if (before !== undefined) {
      expect(body).toBe(before.body);
      return before.answer;
    }
    const said = this.#answer(emailsIn(body));
    const comesLater = said.kind === 'ok' && emailsIn(body).some((email) => this.#kindOf(email) === 'later');
    const answer = comesLater ? { promise: `t${this.#promised.size}` } : said;
    if ('promise' in answer) this.#promised.set(answer.promise, said);
    // Such a service does not keep what was its own fault.
    if (answer !== GAVE_UP) this.#answers.set(idempotencyKey, { body, answer });
    return answer;
  }

  #answer(emails: readonly string[]): SettledCall<unknown> {
    const kinds = emails.map((email) => this.#kindOf(email));
    if (kinds.includes('refused')) return REFUSED;
    if (kinds.includes('breaks')) return GAVE_UP;
    const known: string[] = [];
    for (const [i, email] of emails.entries()) {
      const times = this.#seen.get(email) ?? 0;
      this.#seen.set(email, times + 1);
      if (kinds[i] === 'never' || (kinds[i] === 'left out' && times === 0)) continue;
      known.push(email);
      this.charged.set(email, (this.charged.get(email) ?? 0) + 1);
    }
    const said = verdicts(known, (email) => (this.#kindOf(email) === 'pending' && this.#seen.get(email) === 1 ? 'unknown' : 'deliverable'));
    if (said.kind === 'ok')
      for (const record of said.value.byEmail.values()) if (record.result === 'unknown') Object.assign(record, { reason: 'greylisted' });
    return said;
  }
}

interface Run {
  readonly bench: Bench;
  readonly step: VerifyStep;
  readonly got: Map<string, LookupOutcome<VerificationResult>>;
}

function start(emails: readonly string[], ledger: Iterable<Bench['kept'][number]>, pollForMs: number): Run {
  const bench = makeBench();
  Object.assign(bench.context, { idempotencyKey: (body: string) => hash('sha256', body, 'base64url') });
  for (const entries of ledger) for (const { scope, key, answer } of entries) bench.ledger.set(`${scope} ${key}`, answer);
  const step = verifyStep(bench.context, { email: SCOPE }, { pollForMs, batch: BATCH });
  const got = new Map<string, LookupOutcome<VerificationResult>>();
  for (const email of emails) step.ask({ key: email, spelled: email }, (outcome) => got.set(email, outcome));
  return { bench, step, got };
}

function answer(call: Asked, said: Answer): void {
  if ('promise' in said) call.promise(said.promise);
  else call.settle(said);
}

/** Killed while a verdict is pending, several times: a case must not inherit the clock of the one before. */
const PENDING_AGAIN = Array.from({ length: 5 }, (): [Kind[], number, number, number] => [['pending'], 0, 2, 0]);

/** Ends the first process: its timers are gone, and the wall clock goes on. `vi.clearAllTimers` would set that clock back. */
function killed(): void {
  vi.useFakeTimers({ now: Date.now() });
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a run killed at any moment resumes with the same requests, so a service that honours Idempotency-Key charges no verdict twice', () => {
  const addresses = fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 24 });
  let [resumedInParts, resumedWithTicket] = [0, 0];
  fc.assert(
    fc.property(addresses, fc.nat(), fc.nat(60), fc.nat(20), (kinds, seed, moves, lost) => {
      vi.clearAllTimers();
      const random = seeded(seed);
      const emails = kinds.map((_, i) => `p${i}@example.com`);
      const kindOf = (email: string): Kind => kinds[emails.indexOf(email)] as Kind;
      const service = new HonestService(kindOf);
      const first = start(emails, [], 3_600_000);
      const answers = new Map<Asked, Answer>();
      first.step.flush();
      for (let i = 0; i < moves; i++) {
        if (first.bench.asked.length === 0) {
          vi.advanceTimersByTime(120_000);
          continue;
        }
        const call = first.bench.asked[random.int(0, first.bench.asked.length - 1)] as Asked;
        const said = answers.get(call);
        // A call first reaches the service. Its answer comes back later.
        if (said === undefined) answers.set(call, service.take(call));
        else {
          first.bench.asked.splice(first.bench.asked.indexOf(call), 1);
          answer(call, said);
        }
      }
      killed();
      // The last puts are lost with the process.
      const durable = first.bench.kept.slice(0, Math.max(0, first.bench.kept.length - lost));
      const { bench, step, got } = start(emails, durable, 3_600_000);
      if (durable.flat().some(({ answer }) => answer.kind === 'asking')) resumedInParts++;
      step.flush();
      if (bench.asked.some(({ ticket }) => ticket !== undefined)) resumedWithTicket++;
      for (let idle = 0; got.size < emails.length && idle < 5;) {
        const call = bench.asked.shift();
        if (call !== undefined) answer(call, service.take(call));
        else if (step.groupsIncomplete > 0) step.giveUpOnMissing();
        else {
          vi.advanceTimersByTime(120_000);
          idle++;
        }
      }
      expect([...got.keys()].sort()).toEqual([...emails].sort());
      expect(step.callsPending).toBe(0);
      const most = (email: string): number => (kindOf(email) === 'pending' ? 2 : 1);
      expect([...service.charged].filter(([email, times]) => times > most(email))).toEqual([]);
    }),
    { numRuns: 1_200, examples: PENDING_AGAIN },
  );
  expect(resumedInParts).toBeGreaterThan(20);
  expect(resumedWithTicket).toBeGreaterThan(6);
});
