/** A 404 of a form that the service has not shown as its usual miss. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PersonRecord } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { DISTRUST_AFTER, type QuarantineState } from '../../src/lookup/miss-quarantine.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { stopTime } from '../limiter/virtual.ts';
import { makeBench, MISS, person, type Bench } from './bench.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const GATEWAY = { ...MISS, form: 'application/json - message' } as const;
const USUAL = { ...MISS, form: 'application/json not_found code,detail' } as const;
const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };

interface Made {
  readonly bench: Bench;
  readonly step: OpenStep;
  readonly ask: (key: string) => LookupOutcome<PersonRecord>[];
}

function make(options: Partial<QuarantineState> & { readonly batch?: number } = {}): Made {
  const bench = makeBench(options);
  const step = recordStep(bench.context, 'enrich', SCOPES);
  const ask = (key: string): LookupOutcome<PersonRecord>[] => {
    const got: LookupOutcome<PersonRecord>[] = [];
    step.ask({ by: 'email', key }, (outcome) => got.push(outcome));
    return got;
  };
  return { bench, step, ask };
}

describe('a 404 of a form that the service has not shown', () => {
  it('becomes no miss when the lookup, asked once more after 30 s, is found', () => {
    const { bench, ask } = make();
    const got = ask('ann@x.example');
    bench.next().settle(GATEWAY);
    vi.advanceTimersByTime(29_000);
    expect([got, bench.asked, bench.kept]).toEqual([[], [], []]);
    expect(bench.context.quarantine.unproven).toMatchObject({ lookups: 1 });
    vi.advanceTimersByTime(1_000);
    bench.next().settle(person({ name: 'Ann' }));
    expect(got).toEqual([{ kind: 'hit', answer: { record: { name: 'Ann' }, text: '{"name":"Ann"}' } }]);
    expect(bench.kept.flat().map(({ answer }) => answer.kind)).toEqual(['hit']);
    expect(bench.bodies.enrich).toHaveLength(2);
  });

  it('becomes a miss by the second 404 of the lookup, of whatever form, with the same Idempotency-Key', () => {
    for (const second of [GATEWAY, USUAL]) {
      const { bench, ask } = make();
      const got = ask('ann@x.example');
      const first = bench.next();
      first.settle(GATEWAY);
      vi.advanceTimersByTime(30_000);
      const again = bench.next();
      expect(again.idempotencyKey).toBe(first.idempotencyKey);
      again.settle(second);
      expect([got, bench.kept.flat().map(({ answer }) => answer)]).toEqual([[{ kind: 'miss' }], [{ kind: 'miss' }]]);
    }
  });

  it('a lookup that is asked once more keeps the seed of the ended run that was asking', () => {
    const { bench, ask } = make();
    Object.assign(bench.context, { idempotencyKey: (body: string, seed: string | null = null) => `${seed ?? 'own'} ${body}` });
    Object.assign(bench.context.ledger, {
      ask: (_scope: number, _key: string, told: (answer: null, seed: string) => void) => told(null, 'of an ended run'),
    });
    ask('ann@x.example');
    const first = bench.next();
    first.settle(GATEWAY);
    vi.advanceTimersByTime(30_000);
    expect([first.idempotencyKey, bench.next().idempotencyKey]).toEqual(Array(2).fill(expect.stringMatching(/^of an ended run /)));
  });

  it('counts at once as soon as a second answer has shown it as the usual miss, and only that form', () => {
    const { bench, ask } = make();
    ask('a@x.example');
    bench.next().settle(USUAL);
    vi.advanceTimersByTime(30_000);
    bench.next().settle(USUAL);
    const usual = ask('b@x.example');
    bench.next().settle(USUAL);
    const odd = ask('c@x.example');
    bench.next().settle(GATEWAY);
    expect([usual, odd, bench.context.quarantine.trust.missForms]).toEqual([[{ kind: 'miss' }], [], [USUAL.form]]);
  });

  it('counts at once in a run whose checkpoint has its form, and when nothing else says so', () => {
    const { bench, ask } = make({ missForms: [USUAL.form] });
    const usual = ask('a@x.example');
    bench.next().settle(USUAL);
    const plain = ask('b@x.example');
    bench.next().settle(MISS);
    expect([usual, plain]).toEqual([[{ kind: 'miss' }], [{ kind: 'miss' }]]);
  });

  it('waits no longer once the window of records is full', () => {
    const { bench, ask } = make();
    ask('a@x.example');
    bench.next().settle(GATEWAY);
    bench.context.quarantine.askAgainNow();
    expect([bench.asked.length, bench.context.quarantine.unproven]).toEqual([1, null]);
  });

  it('leaves the second question to the next run when its run stops', () => {
    const first = make();
    const got = first.ask('a@x.example');
    first.bench.next().settle(GATEWAY);
    first.step.stop();
    vi.advanceTimersByTime(60_000);
    expect([got, first.bench.asked, first.bench.kept]).toEqual([[], [], []]);
    const state = JSON.parse(JSON.stringify(first.bench.context.quarantine.trust)) as QuarantineState;
    const next = make(state);
    const again = next.ask('a@x.example');
    next.bench.next().settle(GATEWAY);
    expect([again, next.bench.kept.flat()]).toMatchObject([[{ kind: 'miss' }], [{ answer: { kind: 'miss' } }]]);
  });

  it('counts once as an answer of a service that nothing else has shown, and not again when it is asked about once more', () => {
    const { bench, ask } = make({ trusted: false });
    for (let i = 0; i < DISTRUST_AFTER - 1; i++) {
      ask(`p${i}@x.example`);
      bench.next().settle(GATEWAY);
    }
    vi.advanceTimersByTime(30_000);
    while (bench.asked.length > 0) bench.next().settle(GATEWAY);
    expect([bench.distrusted, bench.context.quarantine.size, bench.kept]).toEqual([[], DISTRUST_AFTER - 1, []]);
    ask('last@x.example');
    bench.next().settle(GATEWAY);
    expect(bench.distrusted).toEqual([`${DISTRUST_AFTER} 404 miss`]);
  });

  it('ends nothing when the provider was given up meanwhile', () => {
    const { bench, step, ask } = make();
    const got = ask('a@x.example');
    bench.next().settle(GATEWAY);
    step.giveUp('unavailable');
    vi.advanceTimersByTime(60_000);
    expect([got, bench.asked]).toMatchObject([[{ kind: 'failed', unavailable: true }], []]);
  });

  it('has its lookup asked once more together with others, where the provider takes several', () => {
    const { bench, step, ask } = make({ batch: 3 });
    const got = ask('a@x.example');
    step.flush();
    bench.next().settle(GATEWAY);
    vi.advanceTimersByTime(30_000);
    ask('b@x.example');
    step.flush();
    expect(bench.next().body).toContain('a@x.example');
    expect(got).toEqual([]);
  });
});
