/** The forecast of a plan against runs of the same job, with answers that a seed draws. */
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { PlanCounting } from '../../../src/job/commands/plan-counting.ts';
import { paidLookups } from '../../../src/job/commands/plan-counts.ts';
import { placeForecast, ratesFor, type PlaceForecast } from '../../../src/job/commands/plan-providers.ts';
import { providerScopes } from '../../../src/job/lifecycle/provider-scopes.ts';
import type { LedgerAnswer } from '../../../src/ledger/answer.ts';
import type { ReadOnlyLedger } from '../../../src/ledger/read-only-ledger.ts';
import { keysFor, type Lookup } from '../../../src/processor/lookup-keys.ts';
import { scopeOf } from '../../../src/processor/walk.ts';
import type { LookupOutcome } from '../../../src/lookup/lookup-outcome.ts';
import type { Steps } from '../../../src/processor/open-steps.ts';
import { RecordProcessor } from '../../../src/processor/process-record.ts';
import type { LookupScopes } from '../../../src/processor/scopes.ts';
import { jobOf, OPERATIONS } from '../../support/provider-jobs.ts';
import { BUILT_IN } from '../../../src/providers/definition/built-in.ts';
import { record } from '../../lookup/bench.ts';
import { eachStep, type Step } from '../../../src/steps/registry.ts';

const NAMES = ['alpha', 'beta', 'gamma'];
const STEPS: readonly Step[] = ['enrich', 'verify', 'company'];

interface World {
  readonly until: readonly string[];
  readonly fields: 'merge' | 'whole';
  /** By record: whether it has an address, and what the ledger has of it by provider. */
  readonly people: readonly { readonly hasEmail: boolean; readonly known: readonly Known[]; readonly verdicts: readonly Known[] }[];
}

type Known = 'full' | 'part' | 'miss' | 'failed' | 'suppressed' | null;

function jobFor({ until, fields }: Pick<World, 'until' | 'fields'>): CompiledJob {
  return jobOf({
    steps: [{ enrich: { from: NAMES, until, fields } }, { verify: { from: NAMES, until: ['deliverable'] } }, 'company'],
    providers: { alpha: {}, beta: {}, gamma: {} },
    // Beta takes addresses alone.
    definitions: { beta: { operations: { ...OPERATIONS, enrich: { ...OPERATIONS.enrich, keys: ['email'] } } } },
  });
}

class FakeLedger implements ReadOnlyLedger {
  readonly answers = new Map<string, LedgerAnswer>();
  readonly #scopes: string[] = [];
  readonly fetch = null;

  scope(...names: [string, string, string]): number {
    const name = names.join('\n');
    if (!this.#scopes.includes(name)) this.#scopes.push(name);
    return this.#scopes.indexOf(name);
  }

  look(scope: number, key: string): LedgerAnswer | null {
    return this.answers.get(`${scope} ${key}`) ?? null;
  }

  async close(): Promise<void> {}
}

const stored = (body: object): LedgerAnswer => ({ kind: 'hit', text: JSON.stringify({ status: 200, body }) });
const FAILED: LedgerAnswer = { kind: 'failed', code: 'http_500', attempts: 1, requestId: null };

function answerFor(known: Exclude<Known, null>, step: Step): LedgerAnswer {
  if (known === 'miss' || known === 'suppressed') return { kind: known };
  if (known === 'failed') return FAILED;
  if (step === 'verify') return { kind: 'hit', text: JSON.stringify({ email: '', result: known === 'full' ? 'deliverable' : 'risky' }) };
  return stored(known === 'full' ? { title: 'Head', name: 'Ada' } : { name: 'Ada' });
}

interface Bed {
  readonly job: CompiledJob;
  readonly ledger: FakeLedger;
  readonly scopes: readonly LookupScopes[];
  readonly records: readonly ReturnType<typeof record>[];
}

function bedOf(world: World): Bed {
  const job = jobFor(world);
  const ledger = new FakeLedger();
  const scopes = job.providers.map((provider) => providerScopes(provider, job, {}, (...names) => ledger.scope(...names)));
  const records = world.people.map(({ hasEmail }, i) => (hasEmail ? record(`a${i}@works${i}.example`) : record('', `works${i}.example`)));
  for (const [i, { hasEmail, known, verdicts }] of world.people.entries())
    for (const [place, own] of scopes.entries()) {
      const key = hasEmail ? `a${i}@works${i}.example` : `works${i}.example`;
      const found = known[place] ?? null;
      if (found !== null) ledger.answers.set(`${own['enrich']?.[hasEmail ? 'email' : 'domain']} ${key}`, answerFor(found, 'enrich'));
      const verdict = verdicts[place] ?? null;
      if (hasEmail && verdict !== null) ledger.answers.set(`${own['verify']?.email} ${key}`, answerFor(verdict, 'verify'));
    }
  return { job, ledger, scopes, records };
}

const keysOf = ({ waterfalls }: CompiledJob): ReturnType<typeof keysFor> =>
  keysFor(STEPS, () => false, { ...eachStep(({ name }) => waterfalls[name]?.keys ?? []), reveal: [] });

async function planned(
  { job, ledger, records }: Bed,
  rates: Readonly<Record<Step, readonly number[]>>,
): Promise<Record<string, PlaceForecast>> {
  const seen = new Set<string>();
  const counting = new PlanCounting(job, keysOf(job), {}, { add: (key) => seen.size !== seen.add(key).size }, ledger);
  for (const one of records) await counting.add(one);
  const counts = counting.counts;
  return Object.fromEntries(
    STEPS.flatMap((step) =>
      job.providers.map((provider, place) => {
        const counted = counts[step]?.places[place];
        if (counted === undefined) throw new Error('a provider is not counted');
        return [`${step} ${provider.name}`, placeForecast(provider, step, place, counted, rates)];
      }),
    ),
  );
}

/** A run with drawn answers. Returns the lookups that it pays for, by step and provider. */
function run({ job, ledger, scopes, records }: Bed, matches: (step: Step, place: number) => boolean): Record<string, number> {
  const paid: Record<string, number> = Object.fromEntries(STEPS.flatMap((step) => NAMES.map((name) => [`${step} ${name}`, 0])));
  let found = 0;
  const outcomes = new Map<string, LookupOutcome<object>>();
  const outcomeOf = (step: Step, place: number, scope: number, key: string): LookupOutcome<object> => {
    const known = ledger.look(scope, key);
    if (known !== null) {
      if (known.kind === 'hit') {
        const value = JSON.parse(known.text) as { body?: object };
        return { kind: 'hit', answer: { record: value.body ?? value, text: '' } };
      }
      return known as LookupOutcome<object>;
    }
    const id = `${step} ${scope} ${key}`;
    const before = outcomes.get(id);
    if (before !== undefined) return before;
    paid[`${step} ${NAMES[place]}`]! += 1;
    const isMatch = matches(step, place);
    const outcome: LookupOutcome<object> =
      step === 'verify'
        ? { kind: 'hit', answer: { record: { email: key, result: isMatch ? 'deliverable' : 'unknown' }, text: '' } }
        : isMatch
          ? { kind: 'hit', answer: { record: { title: 'Head', name: 'Ada', email: `found${found++}@else.example` }, text: '' } }
          : { kind: 'miss' };
    outcomes.set(id, outcome);
    return outcome;
  };
  const at = eachStep(({ name }) =>
    scopes.map((own, place) => ({
      ask: (lookup: Lookup, done: (outcome: LookupOutcome<object>) => void) =>
        done(outcomeOf(name, place, scopeOf(name, lookup, own), lookup.key)),
      flush: () => undefined,
    })),
  );
  const steps = { at, parts: [] } as unknown as Steps;
  const processor = new RecordProcessor(job, steps, keysOf(job));
  for (const [number, one] of records.entries()) processor.process(one, number, { retained: () => undefined, done: () => undefined });
  return paid;
}

const known = (...more: Known[]): fc.Arbitrary<Known> => fc.constantFrom<Known>(null, null, 'full', 'part', 'miss', ...more);
const worlds = (...more: Known[]): fc.Arbitrary<World> =>
  fc.record({
    until: fc.constantFrom([], ['title'], ['name', 'title']),
    fields: fc.constantFrom('merge' as const, 'whole' as const),
    people: fc.array(
      fc.record({
        hasEmail: fc.boolean(),
        known: fc.array(known(...more), { minLength: 3, maxLength: 3 }),
        verdicts: fc.array(known(), { minLength: 3, maxLength: 3 }).map((all) => all.map((one) => (one === 'miss' ? 'failed' : one))),
      }),
      { minLength: 1, maxLength: 8 },
    ),
  });
const rate = (values: fc.Arbitrary<number>): fc.Arbitrary<Record<Step, number[]>> => {
  const three = fc.array(values, { minLength: 3, maxLength: 3 });
  return fc.record({ enrich: three, verify: three, company: three, reveal: three });
};

describe('the forecast of a waterfall', () => {
  it('the forecast is what a run pays, where every provider knows all or nothing', async () => {
    await fc.assert(
      fc.asyncProperty(worlds(), rate(fc.constantFrom(0, 1)), async (world, rates) => {
        const bed = bedOf(world);
        const plan = await planned(bed, rates);
        const paid = run(bed, (step, place) => rates[step]?.[place] === 1);
        expect(Object.fromEntries(Object.entries(plan).map(([name, { lookups }]) => [name, lookups.expected]))).toEqual(paid);
      }),
    );
  });

  it('the forecast is never exceeded, whatever the ledger has and the providers answer', async () => {
    await fc.assert(
      fc.asyncProperty(worlds('failed', 'suppressed'), fc.infiniteStream(fc.boolean()), async (world, draws) => {
        const bed = bedOf(world);
        const plan = await planned(bed, { enrich: [], verify: [], company: [], reveal: [] });
        const paid = run(bed, () => draws.next().value as boolean);
        for (const [name, count] of Object.entries(paid)) expect(count, name).toBeLessThanOrEqual(plan[name]?.lookups.atMost ?? 0);
      }),
    );
  });

  it('the forecast is the mean of many runs at any match rates', async () => {
    const people = Array.from({ length: 400 }, (_, i) => ({
      hasEmail: i % 3 > 0,
      known: [null, i % 5 === 0 ? ('miss' as const) : null, i % 7 === 0 ? ('full' as const) : null],
      verdicts: [null, null, null],
    }));
    const bed = bedOf({ until: [], fields: 'merge', people });
    const rates = { enrich: [0.6, 0.3, 0.5], verify: [0.7, 0.4, 0.9], company: [0.2, 0.5, 0.8], reveal: [] };
    const plan = await planned(bed, rates);
    const sums: Record<string, number> = {};
    let seed = 12_345;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const RUNS = 40;
    for (let i = 0; i < RUNS; i++)
      for (const [name, count] of Object.entries(run(bed, (step, place) => random() < (rates[step as keyof typeof rates][place] ?? 0))))
        sums[name] = (sums[name] ?? 0) + count;
    for (const [name, { lookups }] of Object.entries(plan)) {
      const mean = (sums[name] ?? 0) / RUNS;
      expect(Math.abs((lookups.expected ?? Infinity) - mean), `${name}: ${lookups.expected}, ${mean}`).toBeLessThan(6);
    }
  });

  it('the forecast has no expectation where the match rate of an earlier provider is not known, and a bound all the same', async () => {
    const people = [{ hasEmail: true, known: [null, null, null], verdicts: [null, null, null] }];
    const bed = bedOf({ until: [], fields: 'merge', people });
    const rates = ratesFor(bed.job, {}, new Map([['alpha', { enrich: 0.5 }]]), null);
    const plan = await planned(bed, rates as never);
    expect(plan['enrich alpha']?.lookups).toEqual({ atMost: 1, expected: 1 });
    expect(plan['enrich beta']?.lookups.expected).toBe(1);
    expect(plan['enrich gamma']?.lookups).toEqual({ atMost: 1, expected: null });
    expect(plan['enrich beta']?.credits).toEqual({ atMost: 1, expected: null });
  });
});

it('a lookup that a stopped run was asking for counts as one to ask, and as one to poll where its answer is promised', async () => {
  const job = {
    steps: ['enrich'],
    namesProviders: false,
    providers: [{ name: 'service', definition: BUILT_IN, baseUrl: 'https://service.test', domainField: 'domain' }],
    conditions: {},
    waterfalls: { enrich: { from: ['service'], keys: [['email']], until: [], fields: 'whole' } },
    options: eachStep(() => ({ by: ['email'], minLikelihood: 0, required: [], when: 'always', patienceMs: 0 })),
  } as unknown as CompiledJob;
  const answers: Record<string, LedgerAnswer> = {
    'a@example.com': { kind: 'asking', text: '["a",1,1]' },
    'p@example.com': { kind: 'asking', text: '["p",1,1,"ticket"]' },
    'b@example.com': { kind: 'miss' },
  };
  const ledger = { scope: () => 1, look: (_scope: number, key: string) => answers[key] ?? null, fetch: null, close: async () => undefined };
  const seen = new Set<string>();
  const add = (key: string): boolean => !seen.has(key) && seen.add(key).size > 0;
  const counting = new PlanCounting(
    job,
    keysFor(['enrich'], () => false),
    {},
    { add },
    ledger,
  );
  for (const email of Object.keys(answers)) await counting.add(record(email));
  expect([counting.unique, counting.fromLedger, counting.promised]).toEqual([3, 1, 1]);
  expect([paidLookups(counting.counts).asked.enrich, counting.counts.enrich?.places[0]?.promised]).toEqual([1, 1]);
});
