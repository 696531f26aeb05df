import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { PersonRecord } from '../../src/client/types.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import type { QuarantineState } from '../../src/lookup/miss-quarantine.ts';
import { GAVE_UP, makeBench, MISS, person, REFUSED, SUPPRESSED, type Bench } from './bench.ts';

type EnrichOutcome = LookupOutcome<PersonRecord>;

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };

function ask(step: OpenStep, key: string): EnrichOutcome[] {
  const got: EnrichOutcome[] = [];
  step.ask({ by: key.includes('@') ? 'email' : 'domain', key }, (outcome) => got.push(outcome));
  return got;
}

function make(options: Partial<QuarantineState> = {}): { bench: Bench; step: OpenStep } {
  const bench = makeBench(options);
  return { bench, step: recordStep(bench.context, 'enrich', SCOPES) };
}

describe('OpenStep', () => {
  it('asks by e-mail or by domain, with the key of its body', () => {
    const { bench, step } = make();
    ask(step, 'ada@example.com');
    ask(step, 'example.com');
    expect(bench.asked).toEqual([
      expect.objectContaining({
        step: 'enrich',
        body: '{"email":"ada@example.com"}',
        idempotencyKey: 'key of {"email":"ada@example.com"}',
      }),
      expect.objectContaining({ step: 'enrich', body: '{"domain":"example.com"}' }),
    ]);
    expect(step.callsPending).toBe(2);
  });

  it('makes one call for all records of one key, wherever they come, and keeps its answer once', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 4, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.constant('answer') }), { maxLength: 80 }),
        (steps) => {
          const { bench, step } = make();
          const got: EnrichOutcome[][] = [];
          const keys: string[] = [];
          const answerOne = (): void => {
            const call = bench.next();
            call.settle(person({ name: call.body }));
          };
          for (const one of steps) {
            if (one === 'answer') {
              if (bench.asked.length > 0) answerOne();
            } else {
              keys.push(`p${one}@example.com`);
              got.push(ask(step, `p${one}@example.com`));
            }
          }
          while (bench.asked.length > 0) answerOne();
          expect(bench.bodies.enrich).toEqual([...new Set(keys)].map((email) => JSON.stringify({ email })));
          expect(
            bench.kept
              .map((entries) => entries.map(({ key }) => key))
              .flat()
              .sort(),
          ).toEqual([...new Set(keys)].sort());
          expect(got.map((outcomes) => outcomes.map((o) => (o.kind === 'hit' ? o.answer.record.name : o.kind)))).toEqual(
            keys.map((email) => [JSON.stringify({ email })]),
          );
          expect(step.callsPending).toBe(0);
          expect(bench.progress).toBe(new Set(keys).size);
        },
      ),
    );
  });

  it.each([
    ['a hit', person({ name: 'Ada' }), { kind: 'hit', answer: { record: { name: 'Ada' }, text: '{"name":"Ada"}' } }],
    ['a miss', MISS, { kind: 'miss' }],
    ['a person who asked to be removed', SUPPRESSED, { kind: 'suppressed' }],
    ['a refused request', REFUSED, { kind: 'failed', code: 'validation_failed', attempts: 1, requestId: 'r5' }],
    ['five failures', GAVE_UP, { kind: 'failed', code: 'http_500', attempts: 5, requestId: 'r6' }],
  ])('gives %s to each record alike, now and from the ledger', (_, settled, outcome) => {
    const { bench, step } = make();
    const first = ask(step, 'ada@example.com');
    const second = ask(step, 'ada@example.com');
    bench.next().settle(settled);
    const third = ask(step, 'ada@example.com');
    expect([first, second, third]).toEqual([[outcome], [outcome], [outcome]]);
    expect(bench.bodies.enrich).toHaveLength(1);
    expect(bench.kept).toHaveLength(1);
  });

  it('keeps by e-mail and by domain apart', () => {
    const { bench, step } = make();
    ask(step, 'ada@example.com');
    ask(step, 'example.com');
    bench.next().settle(MISS);
    bench.next().settle(MISS);
    expect(bench.kept.flat().map(({ scope, key }) => [scope, key])).toEqual([
      [1, 'ada@example.com'],
      [2, 'example.com'],
    ]);
  });

  it('holds misses back from ledger and records until the service is trusted; later records of the key wait with them', () => {
    const { bench, step } = make({ trusted: false });
    const first = ask(step, 'a@example.com');
    bench.next().settle(MISS);
    const again = ask(step, 'a@example.com');
    expect([first, again, bench.kept, bench.asked]).toEqual([[], [], [], []]);
    expect(step.callsPending).toBe(0);
    ask(step, 'b@example.com');
    bench.next().settle(person({ name: 'B' }));
    expect([first, again]).toEqual([[{ kind: 'miss' }], [{ kind: 'miss' }]]);
    expect(bench.kept.flat().map(({ key }) => key)).toEqual(['a@example.com', 'b@example.com']);
  });

  it('delivers once what the run before held back, without a call, and asks for the rest', () => {
    const before = make({ trusted: false });
    for (const [email, settled] of [
      ['a@example.com', MISS],
      ['b@example.com', MISS],
    ] as const) {
      ask(before.step, email);
      before.bench.next().settle(settled);
    }
    const { bench, step } = make(JSON.parse(JSON.stringify(before.bench.context.quarantine.trust)) as QuarantineState);
    const told = [ask(step, 'b@example.com'), ask(step, 'b@example.com'), ask(step, 'a@example.com')];
    expect([told, bench.asked, bench.kept, step.callsPending]).toEqual([[[], [], []], [], [], 0]);
    ask(step, 'c@example.com');
    bench.next().settle(person({ name: 'C' }));
    expect(told).toEqual([[{ kind: 'miss' }], [{ kind: 'miss' }], [{ kind: 'miss' }]]);
    expect(bench.kept.flat().map(({ key }) => key)).toEqual(['b@example.com', 'a@example.com', 'c@example.com']);
    expect(bench.bodies.enrich).toEqual(['{"email":"c@example.com"}']);
  });

  it('trusts a service that finds nothing in a way of its own (200 and null)', () => {
    const { bench, step } = make({ trusted: false });
    const first = ask(step, 'a@example.com');
    bench.next().settle(MISS);
    ask(step, 'b@example.com');
    bench.next().settle({ ...MISS, status: 200 });
    expect(first).toEqual([{ kind: 'miss' }]);
  });

  it('does not trust a service for failing', () => {
    const { bench, step } = make({ trusted: false });
    const first = ask(step, 'a@example.com');
    bench.next().settle(MISS);
    const second = ask(step, 'b@example.com');
    bench.next().settle(GAVE_UP);
    expect([first, second]).toEqual([[], [expect.objectContaining({ kind: 'failed' })]]);
  });

  it('stops after a hundred misses and nothing else, with none of them kept', () => {
    const { bench, step } = make({ trusted: false });
    for (let i = 0; i < 100; i++) {
      ask(step, `p${i}@example.com`);
      bench.next().settle(MISS);
    }
    expect(bench.distrusted).toEqual(['100 404 miss']);
    expect(bench.kept).toEqual([]);
  });
});
