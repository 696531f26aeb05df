/** Answers that no rule of a definition takes: kept for corrected rules, and asked again by the next run. */
import { describe, expect, it } from 'vitest';
import type { PersonRecord } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { makeBench, person, type Bench } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function make(readStored: NonNullable<Parameters<typeof makeBench>[0]>['readStored']): {
  readonly bench: Bench;
  readonly ask: () => LookupOutcome<PersonRecord>[];
} {
  const bench = makeBench({ readStored });
  const step = recordStep(bench.context, 'enrich', SCOPES);
  return {
    bench,
    ask: () => {
      const got: LookupOutcome<PersonRecord>[] = [];
      step.ask({ by: 'email', key: 'ann@x.example' }, (outcome) => got.push(outcome));
      return got;
    },
  };
}

describe('an answer that no rule takes', () => {
  it('lets the next run ask again, and a record takes its place', async () => {
    const { bench, ask } = make(async () => 'not_taken');
    bench.ledger.set('1 ann@x.example', { kind: 'hit', text: '{"status":200,"judged":false,"body":{"status":"maintenance"}}' });
    const got = ask();
    await turn();
    expect(got).toEqual([]);
    bench.next().settle(person({ name: 'Ann' }));
    expect(got).toMatchObject([{ kind: 'hit', answer: { record: { name: 'Ann' } } }]);
    expect(bench.kept.flat()).toMatchObject([{ answer: { kind: 'hit', text: '{"name":"Ann"}' }, again: true }]);
  });

  it('costs nothing in the next run when corrected rules take it', async () => {
    for (const [record, outcome] of [
      [{ record: { name: 'Ann' }, text: '{"name":"Ann"}' }, { kind: 'hit' }],
      [null, { kind: 'miss' }],
    ] as const) {
      const { bench, ask } = make(async () => record);
      bench.ledger.set('1 ann@x.example', { kind: 'hit', text: 'kept' });
      const got = ask();
      await turn();
      expect([got, bench.asked]).toMatchObject([[outcome], []]);
    }
  });

  it('costs nothing as a kept miss, when corrected rules find its record', async () => {
    const seen: string[] = [];
    const { bench, ask } = make(async (_step, text) => {
      seen.push(text);
      return seen.length === 1 ? null : { record: { name: 'Ann' }, text: '{"name":"Ann"}' };
    });
    const asked = ask();
    bench.next().settle({ kind: 'miss', status: 200, attempts: 1, requestId: 'r', stored: 'the answer' });
    expect([asked, bench.ledger.get('1 ann@x.example')]).toEqual([[{ kind: 'miss' }], { kind: 'miss', text: 'the answer' }]);
    const [same, corrected] = [ask(), ask()];
    await turn();
    const later = ask();
    await turn();
    expect([same, corrected, later, seen, bench.asked]).toMatchObject([
      [{ kind: 'miss' }],
      [{ kind: 'miss' }],
      [{ kind: 'hit', answer: { record: { name: 'Ann' } } }],
      ['the answer', 'the answer'],
      [],
    ]);
  });

  it('fails its lookup for all records of its own run, which does not ask again', async () => {
    const { bench, ask } = make(async () => 'not_taken');
    const first = ask();
    bench.next().settle({ kind: 'failed', rejected: true, status: 200, code: 'bad_shape', attempts: 1, requestId: 'r', stored: 'kept' });
    const second = ask();
    await turn();
    expect([first, second]).toMatchObject([[{ kind: 'failed', code: 'bad_shape' }], [{ kind: 'failed', code: 'bad_shape' }]]);
    expect([bench.asked, bench.ledger.get('1 ann@x.example')]).toEqual([[], { kind: 'hit', text: 'kept' }]);
  });
});
