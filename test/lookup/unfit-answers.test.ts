/** Answers that no rule of a definition takes: kept for corrected rules, and asked again by the next run. */
import { describe, expect, it } from 'vitest';
import type { PersonRecord } from '../../src/client/types.ts';
import { MOST_UNFIT } from '../../src/lookup/lookup-answers.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { DISTRUST_AFTER } from '../../src/lookup/miss-quarantine.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { makeBench, person, REFUSED, type Bench } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The ledger's text of an answer that no rule took. */
const UNFIT = '{"status":200,"judged":false,"body":{"status":"maintenance"}}';

function make(
  readStored: NonNullable<Parameters<typeof makeBench>[0]>['readStored'],
  trusted = true,
): {
  readonly bench: Bench;
  readonly step: OpenStep;
  readonly ask: (key?: string) => LookupOutcome<PersonRecord>[];
} {
  const bench = makeBench({ readStored, trusted });
  const step = recordStep(bench.context, 'enrich', SCOPES);
  return {
    bench,
    step,
    ask: (key = 'ann@x.example') => {
      const got: LookupOutcome<PersonRecord>[] = [];
      step.ask({ by: 'email', key }, (outcome) => got.push(outcome));
      return got;
    },
  };
}

describe('an answer that no rule takes', () => {
  it('lets the next run ask again, and a record takes its place', async () => {
    const { bench, ask } = make(async () => 'not_taken');
    bench.ledger.set('1 ann@x.example', { kind: 'hit', text: UNFIT });
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

  it('leaves its record without an answer when the provider was given up, before or while the answer is read', async () => {
    for (const isBefore of [true, false]) {
      const { bench, step, ask } = make(async () => 'not_taken');
      bench.ledger.set('1 ann@x.example', { kind: 'hit', text: UNFIT });
      if (isBefore) step.giveUp('unavailable');
      const got = ask();
      if (!isBefore) step.giveUp('unavailable');
      await turn();
      expect([got, bench.asked, step.callsPending]).toMatchObject([[{ kind: 'failed', code: 'unavailable', unavailable: true }], [], 0]);
    }
  });

  it('a kept answer that no rule takes is asked again under a claim, which does not return the same answer', async () => {
    const { bench, ask } = make(async () => 'not_taken');
    const claimed: unknown[] = [];
    Object.assign(bench.context.ledger, {
      ask: (_scope: number, key: string, told: (answer: null) => void, unfit: string | null) => {
        claimed.push([key, unfit]);
        told(null);
      },
    });
    bench.ledger.set('1 ann@x.example', { kind: 'hit', text: UNFIT });
    ask();
    await turn();
    expect([claimed, bench.asked.length]).toEqual([[['ann@x.example', UNFIT]], 1]);
  });

  it('a kept answer that no rule takes is no match of the service in the ledger: refusals are still a reason to doubt it', async () => {
    const { bench, ask } = make(async () => 'not_taken', false);
    for (let i = 0; i < DISTRUST_AFTER; i++) {
      bench.ledger.set(`1 p${i}@x.example`, { kind: 'hit', text: UNFIT });
      ask(`p${i}@x.example`);
      await turn();
      bench.next().settle(REFUSED);
    }
    expect(bench.distrusted).toEqual([`${DISTRUST_AFTER} 422 validation_failed`]);
  });

  it('a run notes a bounded number of lookups whose answers no rule takes, the latest', async () => {
    const { bench, ask } = make(async () => 'not_taken');
    const failed = { kind: 'failed', rejected: true, status: 200, attempts: 1, requestId: 'r', stored: UNFIT } as const;
    for (let i = 0; i <= MOST_UNFIT; i++) {
      ask(`p${i}@x.example`);
      bench.next().settle({ ...failed, code: 'bad_shape' });
    }
    const [oldest, latest] = [ask('p0@x.example'), ask(`p${MOST_UNFIT}@x.example`)];
    await turn();
    expect([oldest, latest, bench.asked.length]).toMatchObject([[], [{ code: 'bad_shape' }], 1]);
  });
});
