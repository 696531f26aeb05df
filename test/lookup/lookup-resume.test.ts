import { hash } from 'node:crypto';
import * as fc from '../support/fast-check.ts';
import { casesOf } from '../support/sample.ts';
import { expect, it } from 'vitest';
import { seeded } from '../../fixtures/generate/random.ts';
import type { BatchItem } from '../../src/client/provider-client.ts';
import type { SettledCall } from '../../src/pool/call-pool.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { GAVE_UP, ITEMS, items, makeBench, MISS, person, REFUSED, type Asked, type Bench } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };

/**
 * How a provider treats a lookup. `refused`, `breaks` and `breaks once` affect their whole request, the last of them only together with
 * other lookups. `later` needs a request of its own.
 */
const KINDS = ['fine', 'fine', 'fine', 'miss', 'left out', 'never', 'broken item', 'refused', 'breaks', 'breaks once', 'later'] as const;
type Kind = (typeof KINDS)[number];

type Answer = SettledCall<unknown> | { readonly promise: string };

/** A provider that honours Idempotency-Key: it charges a match once for each key, and a promise when it gives it. */
class HonestProvider {
  readonly charged = new Map<string, number>();
  readonly #answers = new Map<string, { readonly body: string; readonly answer: Answer }>();
  readonly #broke = new Set<string>();
  readonly #kinds: ReadonlyMap<string, Kind>;

  constructor(kinds: ReadonlyMap<string, Kind>) {
    this.#kinds = kinds;
  }

  take({ body, idempotencyKey = '', ticket }: Asked): Answer {
    if (ticket !== undefined) return person({ email: ticket });
    const before = this.#answers.get(idempotencyKey);
    if (before !== undefined) {
      expect(body).toBe(before.body);
      return before.answer;
    }
    const answer = this.#answer(body);
    // Such a provider does not keep what was its own fault.
    if (answer !== GAVE_UP) this.#answers.set(idempotencyKey, { body, answer });
    return answer;
  }

  #answer(body: string): Answer {
    const all = [...body.matchAll(/"email":"([^"]+)"/g)].map(([, email]) => email as string);
    const kinds = all.map((email) => this.#kinds.get(email) as Kind);
    if (kinds.includes('refused')) return REFUSED;
    const once = all.filter((email, i) => kinds[i] === 'breaks once' && all.length > 1 && !this.#broke.has(email));
    for (const email of once) this.#broke.add(email);
    if (kinds.includes('breaks') || once.length > 0) return GAVE_UP;
    const isOne = all.length === 1;
    const found = all.map((email, i) => this.#item(email, kinds[i] as Kind, isOne));
    const [email = ''] = all;
    if (body.startsWith('[') && !isOne) return items(found);
    if (kinds[0] === 'later' && !body.startsWith('[')) {
      this.#charge(email);
      return { promise: email };
    }
    const [item = null] = found;
    // A request of its own is answered about its lookup, or fails.
    if (item === null) return body.startsWith('[') ? { kind: 'ok', value: null, attempts: 1, requestId: null } : GAVE_UP;
    return item.kind === 'ok' ? person({ email }) : item.kind === 'miss' ? MISS : GAVE_UP;
  }

  #item(email: string, kind: Kind, isOne: boolean): BatchItem {
    if (kind === 'miss') return ITEMS.miss;
    if (kind === 'never' || ((kind === 'left out' || kind === 'later') && !isOne)) return null;
    if (kind === 'broken item' && !isOne) return ITEMS.broken;
    if (kind !== 'later') this.#charge(email);
    return ITEMS.person({ email });
  }

  #charge(email: string): void {
    this.charged.set(email, (this.charged.get(email) ?? 0) + 1);
  }
}

interface Run {
  readonly bench: Bench;
  readonly step: OpenStep;
  readonly got: Map<string, string>;
}

interface Form {
  readonly batch: number;
  readonly onlyBatches: boolean;
}

function start(emails: readonly string[], ledger: Iterable<Bench['kept'][number]>, form: Form): Run {
  const bench = makeBench(form);
  Object.assign(bench.context, { idempotencyKey: (body: string) => hash('sha256', body, 'base64url') });
  for (const entries of ledger) for (const { scope, key, answer } of entries) bench.ledger.set(`${scope} ${key}`, answer);
  const step = recordStep(bench.context, 'enrich', SCOPES);
  const got = new Map<string, string>();
  for (const email of emails) {
    step.ask({ by: 'email', key: email }, (outcome) => {
      expect(got.has(email)).toBe(false);
      got.set(email, outcome.kind === 'hit' ? outcome.answer.text : outcome.kind === 'failed' ? outcome.code : outcome.kind);
    });
  }
  return { bench, step, got };
}

function answer(call: Asked, said: Answer): void {
  if ('promise' in said) call.promise(said.promise);
  else call.settle(said);
}

/** Answers everything, in a random order. */
function finish({ bench, step, got }: Run, provider: HonestProvider, emails: readonly string[], random: ReturnType<typeof seeded>): void {
  step.flush();
  while (got.size < emails.length) {
    const [call] = bench.asked.splice(random.int(0, Math.max(0, bench.asked.length - 1)), 1);
    if (call !== undefined) answer(call, provider.take(call));
    else if (step.groupsIncomplete > 0) step.giveUpOnMissing();
    else break;
  }
}

it('a run killed at any moment resumes with the same requests and tickets: it pays no lookup twice, and ends with the same answers', () => {
  const cases = fc.record({
    kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 24 }),
    form: fc.record({ batch: fc.constantFrom(1, 2, 4, 8), onlyBatches: fc.boolean() }),
    seed: fc.nat(),
    moves: fc.nat(60),
    lost: fc.nat(20),
  });
  let [resumedInParts, resumedWithTicket] = [0, 0];
  fc.assert(
    fc.property(cases, ({ kinds, form, seed, moves, lost }) => {
      const random = seeded(seed);
      const emails = kinds.map((_, i) => `p${i}@example.com`);
      const kindOf = new Map(emails.map((email, i) => [email, kinds[i] as Kind]));
      const whole = start(emails, [], form);
      finish(whole, new HonestProvider(kindOf), emails, random);

      const provider = new HonestProvider(kindOf);
      const first = start(emails, [], form);
      first.step.flush();
      const answers = new Map<Asked, Answer>();
      for (let i = 0; i < moves && first.bench.asked.length > 0; i++) {
        const call = first.bench.asked[random.int(0, first.bench.asked.length - 1)] as Asked;
        const said = answers.get(call);
        // A call first reaches the provider. Its answer comes back later.
        if (said === undefined) answers.set(call, provider.take(call));
        else {
          first.bench.asked.splice(first.bench.asked.indexOf(call), 1);
          answer(call, said);
        }
      }
      // The last puts are lost with the process. Where a request failed by chance, lookups that were asked since then may be paid again.
      const puts = kinds.includes('breaks once') ? 0 : lost;
      const durable = first.bench.kept.slice(0, Math.max(0, first.bench.kept.length - puts));
      const second = start(emails, durable, form);
      const notes = durable.flat().filter((entry) => entry.answer.kind === 'asking');
      if (notes.length > 0) resumedInParts++;
      if (second.bench.asked.some(({ ticket }) => ticket !== undefined)) resumedWithTicket++;
      finish(second, provider, emails, random);
      expect(second.step.callsPending).toBe(0);
      expect(second.got).toEqual(whole.got);
      expect([...second.got.keys()].sort()).toEqual([...emails].sort());
      expect([...provider.charged].filter(([, times]) => times > 1)).toEqual([]);
    }),
    { numRuns: 1_500 },
  );
  expect(resumedInParts).toBeGreaterThan(casesOf(6, 20));
  expect(resumedWithTicket).toBeGreaterThan(casesOf(6, 20));
});
