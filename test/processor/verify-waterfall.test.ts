import { describe, expect, it } from 'vitest';
import * as fc from '../support/fast-check.ts';
import type { VerificationResult } from '../../src/client/types.ts';
import type { InputRecord } from '../../src/formats/input-record.ts';
import type { Contribution } from '../../src/processor/contribution.ts';
import type { VerifyLookup } from '../../src/processor/verify.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import type { Waterfall } from '../../src/definition/waterfall.ts';
import { VerifyWaterfall } from '../../src/processor/verify-waterfall.ts';

type Verdict = 'deliverable' | 'undeliverable' | 'risky' | 'unknown' | 'failed' | 'away' | 'suppressed';

function outcomeOf(verdict: Verdict, provider: string): LookupOutcome<VerificationResult> {
  if (verdict === 'suppressed') return { kind: 'suppressed' };
  if (verdict === 'failed' || verdict === 'away')
    return { kind: 'failed', code: verdict, attempts: 1, requestId: null, ...(verdict === 'away' ? { unavailable: true } : {}) };
  const record: VerificationResult = { email: 'x', result: verdict, confidence: null, reason: provider };
  return { kind: 'hit', answer: { record, text: JSON.stringify(record) } };
}

interface Row {
  readonly result: string | null;
  readonly source: unknown;
  readonly contributions: readonly Contribution[] | undefined;
}

/** Providers that answer when the test lets them. */
class Bed {
  readonly asked: string[][] = [];
  readonly rows = new Map<number, Row>();
  readonly flushes: number[] = [];
  readonly #open: {
    readonly provider: number;
    readonly email: string;
    readonly done: (outcome: LookupOutcome<VerificationResult>) => void;
  }[] = [];
  readonly waterfall: VerifyWaterfall;
  readonly #names: readonly string[];

  constructor(
    providers: number,
    rule: Partial<Waterfall> | null = {},
    groups: { rows: number; before: number } | null = null,
    isOrdered = true,
  ) {
    this.#names = ['a', 'b', 'c', 'd'].slice(0, providers);
    const steps = this.#names.map((_, provider) => ({
      isOrdered,
      ask: ({ key: email }: VerifyLookup, done: (outcome: LookupOutcome<VerificationResult>) => void) => {
        (this.asked[provider] ??= []).push(email);
        this.#open.push({ provider, email, done });
      },
      flush: () => void this.flushes.push(provider),
    }));
    const full = { from: this.#names, until: ['deliverable', 'undeliverable', 'risky'], ...rule };
    this.waterfall = new VerifyWaterfall(steps, full, rule !== null, groups);
  }

  take(number: number, email: string | null): void {
    this.waterfall.take(
      number,
      email === null
        ? null
        : {
            address: { key: email, spelled: email },
            origin: {} as InputRecord,
            done: (outcome, contributions) => {
              const record = outcome.kind === 'hit' ? outcome.answer.record : null;
              this.rows.set(number, { result: record?.result ?? outcome.kind, source: record?.['source'], contributions });
            },
          },
    );
  }

  /** Answers the open call at this place. */
  answer(verdictOf: (email: string, provider: number) => Verdict, at = 0): boolean {
    const [call] = this.#open.splice(at % Math.max(1, this.#open.length), 1);
    if (call === undefined) return false;
    call.done(outcomeOf(verdictOf(call.email, call.provider), this.#names[call.provider] ?? ''));
    return true;
  }
}

describe('verify over several providers', () => {
  it('passes a verdict on as it is for a job with one service', () => {
    const bed = new Bed(1, null);
    bed.take(0, 'a@x.example');
    bed.answer(() => 'risky');
    expect(bed.rows.get(0)).toEqual({ result: 'risky', source: undefined, contributions: undefined });
  });

  it('asks the next provider while no verdict settles the address, and shows who settled it', () => {
    const bed = new Bed(3);
    bed.take(0, 'a@x.example');
    while (bed.answer((_, provider) => (['unknown', 'failed', 'deliverable'] as const)[provider] ?? 'unknown'));
    expect(bed.rows.get(0)).toMatchObject({ result: 'deliverable', source: 'c' });
    expect(bed.rows.get(0)?.contributions?.map(({ provider, kind, fields }) => [provider, kind, fields])).toEqual([
      ['a', 'matched', 0],
      ['b', 'failed', 0],
      ['c', 'matched', 1],
    ]);
  });

  it.each<[string, readonly Verdict[], string, unknown]>([
    ['the first verdict that says something', ['unknown', 'risky', 'unknown'], 'risky', 'b'],
    ['the first unknown when there is no other', ['unknown', 'unknown', 'failed'], 'unknown', 'a'],
    ['the failure when nobody gave a verdict', ['failed', 'away', 'failed'], 'failed', undefined],
    ['suppressed when a provider says so', ['unknown', 'suppressed', 'deliverable'], 'suppressed', undefined],
    ['suppressed also after a failure', ['failed', 'suppressed', 'deliverable'], 'suppressed', undefined],
  ])('shows %s where none settles the address', (_, verdicts, result, source) => {
    const bed = new Bed(3, { until: ['deliverable'] });
    bed.take(0, 'a@x.example');
    while (bed.answer((__, provider) => verdicts[provider] ?? 'unknown'));
    expect(bed.rows.get(0)).toMatchObject({ result, ...(source === undefined ? {} : { source }) });
  });

  it('asks each provider in input order, whatever the order of the answers', () => {
    const scenario = fc.record({
      records: fc.array(
        fc.option(fc.constantFrom<Verdict[]>(['unknown', 'unknown'], ['risky'], ['unknown', 'deliverable'], ['failed', 'risky'])),
        {
          maxLength: 30,
        },
      ),
      order: fc.infiniteStream(fc.nat(50)),
    });
    fc.assert(
      fc.property(scenario, ({ records, order }) => {
        const bed = new Bed(2);
        const emails = records.map((verdicts, number) => (verdicts === null ? null : `p${String(number).padStart(3, '0')}@x.example`));
        emails.forEach((email, number) => bed.take(number, email));
        const verdictOf = (email: string, provider: number): Verdict => records[Number(email.slice(1, 4))]?.[provider] ?? 'unknown';
        while (bed.answer(verdictOf, order.next().value));
        for (const asked of bed.asked) expect(asked).toEqual([...asked].sort());
        expect([...bed.rows.keys()].sort((one, other) => one - other)).toEqual(
          emails.flatMap((email, number) => (email === null ? [] : [number])),
        );
      }),
    );
  });

  it('holds up no address for another one where each has a request of its own', () => {
    const bed = new Bed(2, {}, null, false);
    bed.take(0, 'slow@x.example');
    bed.take(1, 'quick@x.example');
    bed.answer((email) => (email.startsWith('quick') ? 'unknown' : 'risky'), 1);
    expect(bed.asked[1]).toEqual(['quick@x.example']);
    expect(bed.rows.size).toBe(0);
    while (bed.answer(() => 'risky'));
    expect(bed.rows.size).toBe(2);
  });

  it('ends requests after each group of rows at every provider', () => {
    const bed = new Bed(2, {}, { rows: 2, before: 1 });
    bed.take(0, 'a@x.example');
    expect(bed.flushes).toEqual([0]);
    bed.answer(() => 'risky');
    expect(bed.flushes).toEqual([0, 1]);
  });
});
