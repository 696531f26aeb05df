import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import type { Waterfall } from '../../src/definition/waterfall.ts';
import type { Contribution } from '../../src/processor/contribution.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { LookupWaterfall } from '../../src/processor/lookup-waterfall.ts';

type AnyRecord = Readonly<Record<string, unknown>>;
type Outcome = LookupOutcome<AnyRecord>;

const hit = (record: AnyRecord): Outcome => ({ kind: 'hit', answer: { record, text: JSON.stringify(record) } });
const MISS: Outcome = { kind: 'miss' };
const failed = (code: string): Outcome => ({ kind: 'failed', code, attempts: 5, requestId: null });
const AWAY: Outcome = { kind: 'failed', code: 'unavailable', attempts: 0, requestId: null, unavailable: true };

interface Told {
  readonly outcome: Outcome;
  readonly key: string;
  readonly contributions: readonly Contribution[];
  readonly asked: readonly string[];
}

/** Asks providers a, b, c ... that answer so, one lookup each; null: the record has no key for that provider. */
function ask(answers: readonly (Outcome | null)[], rule: Partial<Waterfall> = {}): Told {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, answers.length);
  const asked: string[] = [];
  const waterfall = new LookupWaterfall<AnyRecord>(
    'enrich',
    { from: names, keys: [], until: [], fields: 'merge', ...rule },
    answers.map((answer, index) => ({
      ask: (_lookup, done) => {
        asked.push(names[index] ?? '');
        done(answer ?? MISS);
      },
    })),
    true,
  );
  const told: Told[] = [];
  const lookups = answers.map((answer, index) => (answer === null ? null : { by: 'email' as const, key: `key ${names[index]}` }));
  waterfall.ask(lookups, (outcome, key, contributions = []) => told.push({ outcome, key, contributions, asked }), null);
  expect(told).toHaveLength(1);
  return told[0] as Told;
}

const found = ({ outcome }: Told): unknown => (outcome.kind === 'hit' ? outcome.answer.record : outcome.kind);

describe('a lookup over several providers', () => {
  it('ends with the first match when no field is wanted', () => {
    const told = ask([MISS, hit({ name: 'Ada' }), hit({ name: 'Eve' })]);
    expect(told.asked).toEqual(['a', 'b']);
    expect(found(told)).toEqual({ name: 'Ada', source: { name: 'b' } });
  });

  it('asks on while a wanted field is empty, and fills only empty fields', () => {
    const told = ask([hit({ name: 'Ada', title: null }), MISS, hit({ name: 'Eve', title: 'CTO', phone: '+1' }), hit({ title: 'x' })], {
      until: ['name', 'title'],
    });
    expect(told.asked).toEqual(['a', 'b', 'c']);
    expect(found(told)).toEqual({ name: 'Ada', title: 'CTO', phone: '+1', source: { name: 'a', title: 'c', phone: 'c' } });
    expect(told.contributions).toEqual([
      { step: 'enrich', provider: 'a', kind: 'matched', fields: 1, isFirst: true },
      { step: 'enrich', provider: 'b', kind: 'missed', fields: 0, isFirst: false },
      { step: 'enrich', provider: 'c', kind: 'matched', fields: 2, isFirst: false },
    ]);
  });

  it('takes the whole record of the first provider that has all wanted fields, else that of the first match', () => {
    const rule = { until: ['title'], fields: 'whole' } as const;
    expect(found(ask([hit({ name: 'Ada' }), hit({ name: 'Eve', title: 'CTO' })], rule))).toMatchObject({ name: 'Eve', title: 'CTO' });
    expect(found(ask([hit({ name: 'Ada' }), hit({ name: 'Eve' })], rule))).toMatchObject({ name: 'Ada' });
  });

  it('skips a provider for which the record has no key', () => {
    const told = ask([null, hit({ name: 'Ada' })]);
    expect([told.asked, told.key]).toEqual([['b'], 'key b']);
  });

  it('ends as suppressed at the first provider that says so, whatever was found before', () => {
    const told = ask([hit({ name: 'Ada' }), { kind: 'suppressed' }, hit({ title: 'CTO' })], { until: ['title'] });
    expect([found(told), told.asked]).toEqual(['suppressed', ['a', 'b']]);
  });

  it('goes on after a failure, and fails with the first one only when nobody matched', () => {
    expect(found(ask([failed('http_500'), hit({ name: 'Ada' })]))).toMatchObject({ name: 'Ada' });
    const told = ask([MISS, failed('http_500'), AWAY]);
    expect(told.outcome).toMatchObject({ kind: 'failed', code: 'http_500' });
    expect(told.key).toBe('key b');
    expect(told.contributions.map(({ kind }) => kind)).toEqual(['missed', 'failed', 'unavailable']);
    expect(ask([AWAY, MISS]).outcome).toMatchObject({ kind: 'failed', code: 'unavailable' });
  });

  it('counts the memory of the answers that a row is made of, and gives back those of a suppressed person', () => {
    const open: ((outcome: Outcome) => void)[] = [];
    const rule: Waterfall = { from: ['a', 'b', 'c'], keys: [], until: ['title'], fields: 'merge' };
    const provider = { ask: (_: unknown, done: (outcome: Outcome) => void) => void open.push(done) };
    const waterfall = new LookupWaterfall<AnyRecord>('enrich', rule, [provider, provider, provider], true);
    const heldAtTheEnd: number[] = [];
    const lookup = { by: 'email', key: 'k' } as const;
    for (const last of [MISS, { kind: 'suppressed' } as const]) {
      let held = 0;
      waterfall.ask(
        [lookup, lookup, lookup],
        () => heldAtTheEnd.push(held),
        null,
        (chars) => (held += chars),
      );
      open.pop()?.(hit({ name: 'Ada' }));
      expect(held).toBe('{"name":"Ada"}'.length);
      open.pop()?.(hit({ phone: '+1' }));
      expect(held).toBe('{"name":"Ada"}{"phone":"+1"}'.length);
      open.pop()?.(last);
    }
    expect(heldAtTheEnd).toEqual(['{"name":"Ada"}{"phone":"+1"}'.length, 0]);
  });

  it('has the same record as its text, whatever the fields are', () => {
    const record = fc.dictionary(fc.oneof(fc.constantFrom('source', 'company', 'email'), fc.string()), fc.jsonValue(), { maxKeys: 5 });
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 3 }), fc.constantFrom('merge', 'whole'), (records, fields) => {
        const { outcome } = ask(records.map(hit), { until: ['email'], fields });
        if (outcome.kind !== 'hit') throw new Error(outcome.kind);
        expect(JSON.parse(outcome.answer.text)).toEqual(JSON.parse(JSON.stringify(outcome.answer.record)));
      }),
    );
  });

  it('asks each provider at most once, in order, and no one after the record is complete', () => {
    const outcome = fc.constantFrom(
      MISS,
      failed('timeout'),
      AWAY,
      hit({ name: 'Ada' }),
      hit({ title: 'CTO' }),
      hit({ name: 'Eve', title: 'CEO' }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.option(outcome, { nil: null, freq: 4 }), { minLength: 1, maxLength: 5 }),
        fc.subarray(['name', 'title']),
        fc.constantFrom('merge', 'whole'),
        (answers, until, fields) => {
          const told = ask(answers, { until, fields });
          expect(told.asked).toEqual(told.contributions.map(({ provider }) => provider));
          expect(told.asked).toEqual([...told.asked].sort());
          expect(new Set(told.asked).size).toBe(told.asked.length);
          const matched = told.contributions.some(({ kind }) => kind === 'matched');
          expect(told.outcome.kind === 'hit').toBe(matched);
          const sum = told.contributions.reduce((total, one) => total + one.fields, 0);
          const record = found(told) as { source?: Record<string, string> };
          expect(sum).toBe(matched ? Object.keys(record.source ?? {}).length : 0);
          expect(told.contributions.filter(({ kind, isFirst }) => kind === 'matched' && isFirst)).toHaveLength(matched ? 1 : 0);
        },
      ),
    );
  });
});
