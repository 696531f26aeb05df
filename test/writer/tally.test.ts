import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { invalid } from '../../src/processor/result.ts';
import type { FinishedOpen } from '../../src/formats/input-record.ts';
import { openLine } from '../../src/job/report/open-line.ts';
import { EMPTY_TALLY, Tallying, type Tally } from '../../src/writer/tally.ts';
import { csvRecord, manifestOf, result } from './samples.ts';

const verdict = (name: string): Parameters<Tallying['add']>[0] => ({
  outcome: 'matched',
  error: null,
  answers: { verify: { record: { email: '', result: name, confidence: null, reason: null }, text: '' } },
  failure: null,
});

/** A provider that only former rows asked has zeros. */
function withoutZeros({ providers = {}, ...tally }: Tally): unknown {
  const asked = Object.entries(providers).flatMap(([step, counts]) =>
    Object.entries(counts).flatMap(([name, all]) => (Object.values(all).every((n) => n === 0) ? [] : [[`${step} ${name}`, all]])),
  );
  return { ...tally, providers: Object.fromEntries(asked) };
}

describe('Tallying', () => {
  it('adds up to the rows, whatever the service calls its verdicts and however often it is stored and read again', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(result, fc.boolean()), { maxLength: 60 }), (rows) => {
        let tallying = new Tallying(EMPTY_TALLY);
        for (const [row, keep] of rows) {
          tallying.add(row);
          if (keep) tallying = new Tallying(JSON.parse(JSON.stringify(tallying.snapshot())) as typeof EMPTY_TALLY);
        }
        // The verdict of a row that failed after verify does not count.
        const said = rows.flatMap(([row]) => (row.outcome === 'failed' ? [] : [row.answers['verify']?.record['result'] ?? []].flat()));
        const { total, outcomes, verification } = tallying.snapshot();
        expect(total).toBe(rows.length);
        for (const [outcome, count] of Object.entries(outcomes)) expect(count).toBe(rows.filter(([row]) => row.outcome === outcome).length);
        expect(Object.values(verification).every((count) => Number.isSafeInteger(count))).toBe(true);
        expect(Object.values(verification).reduce((sum, count) => sum + count, 0)).toBe(said.length);
        for (const name of ['risky', '__proto__', 'constructor']) {
          expect(Object.entries(verification).find(([key]) => key === name)?.[1] ?? 0).toBe(
            said.filter((verdict) => verdict === name).length,
          );
        }
      }),
    );
    expect(EMPTY_TALLY).toEqual({
      total: 0,
      outcomes: { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 },
      verification: {},
    });
  });

  it('gives the same sums in parts and in one piece', () => {
    fc.assert(
      fc.property(fc.array(fc.array(result, { maxLength: 20 }), { maxLength: 5 }), (parts) => {
        const [whole, joined] = [new Tallying(EMPTY_TALLY), new Tallying(EMPTY_TALLY)];
        for (const rows of parts) {
          const part = new Tallying(EMPTY_TALLY);
          for (const row of rows) {
            part.add(row);
            whole.add(row);
          }
          joined.addAll(part.snapshot());
        }
        // Compared as text, because the order counts as well.
        expect(JSON.stringify(joined.snapshot())).toBe(JSON.stringify(whole.snapshot()));
      }),
    );
  });

  it('counts the reasons of failed and invalid rows, also after a retry has replaced some', () => {
    const failed = (code: string): Parameters<Tallying['add']>[0] => ({
      outcome: 'failed',
      error: code,
      answers: {},
      failure: { step: 'enrich', key: 'a', code, attempts: 5, requestId: null },
    });
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('http_500', 'timeout', 'bad_row'), { maxLength: 40 }),
        fc.array(fc.constantFrom('mended', 'timeout'), { maxLength: 40 }),
        (codes, after) => {
          const tallying = new Tallying(EMPTY_TALLY);
          for (const code of codes) tallying.add(code === 'bad_row' ? invalid(code) : failed(code));
          const lasting = codes.filter((code) => code !== 'bad_row');
          const retried = lasting.slice(0, after.length);
          for (const [i, code] of retried.entries())
            tallying.replace(after[i] === 'mended' ? verdict('risky') : failed('timeout'), {
              error: { line: '', step: 'enrich', code },
              open: null,
            });
          const now = [...lasting.slice(after.length), ...after.slice(0, retried.length).filter((code) => code !== 'mended')];
          const times = (of: readonly string[], code: string): number => of.filter((one) => one === code).length;
          const expected = {
            'enrich:http_500': times(now, 'http_500'),
            'enrich:timeout': times(now, 'timeout'),
            'input:bad_row': times(codes, 'bad_row'),
          };
          expect(tallying.snapshot().errors).toEqual(Object.fromEntries(Object.entries(expected).filter(([, n]) => n > 0)));
        },
      ),
    );
  });

  it('counts a row that a retry has mended as if no provider had been away', () => {
    const ends = ['matched', 'missed', 'failed', 'unavailable'] as const;
    const row = fc
      .record({
        outcome: fc.constantFrom('matched' as const, 'no_match' as const),
        contributions: fc.array(
          fc.record({
            step: fc.constantFrom('enrich' as const, 'verify' as const),
            provider: fc.constantFrom('a', 'b', 'c'),
            kind: fc.constantFrom(...ends),
            fields: fc.nat(3),
          }),
          { maxLength: 4 },
        ),
        verdict: fc.option(fc.constantFrom('risky', 'unknown')),
        isOpen: fc.boolean(),
        isCompany: fc.boolean(),
      })
      .map(({ outcome, contributions, verdict: said, isOpen, isCompany }): Parameters<Tallying['add']>[0] => {
        const seen = new Set<string>();
        const own = contributions
          .toSorted((one, other) => (one.step < other.step ? -1 : 1))
          .map((one) => {
            const isFirst = !seen.has(one.step);
            if (one.kind === 'matched') seen.add(one.step);
            return { ...one, fields: one.kind === 'matched' ? one.fields : 0, isFirst };
          });
        return {
          ...(said === null ? { ...verdict(''), verify: null } : verdict(said)),
          outcome,
          isCompany,
          lookups: own.filter(({ kind }) => kind !== 'unavailable').length,
          contributions: own,
          ...(isOpen ? { open: [{ step: 'enrich', key: 'k', missing: ['title'] }] } : {}),
        };
      });
    fc.assert(
      fc.property(fc.array(fc.tuple(row, row), { maxLength: 20 }), (rows) => {
        const [retried, undisturbed] = [new Tallying(EMPTY_TALLY), new Tallying(EMPTY_TALLY)];
        for (const [before] of rows) retried.add(before);
        for (const [before, after] of rows) {
          const line = openLine(manifestOf([]), csvRecord([]), before);
          if (line !== null) retried.replace(after, { error: null, open: { line, ...(JSON.parse(line) as Omit<FinishedOpen, 'line'>) } });
          undisturbed.add(line === null ? before : after);
        }
        expect(withoutZeros(retried.snapshot())).toEqual(withoutZeros(undisturbed.snapshot()));
      }),
    );
  });

  it('stays small although a service invents names', () => {
    const tallying = new Tallying(EMPTY_TALLY);
    tallying.add(verdict('x'.repeat(1_000_000)));
    for (let i = 0; i < 1_000; i++) tallying.add(verdict(`v${i}`));
    tallying.add(verdict('v0'));
    const { verification } = tallying.snapshot();
    expect(Object.keys(verification)).toHaveLength(32);
    expect(verification['v0']).toBe(2);
    expect(verification['other']).toBe(1 + 1_000 - 31);
  });
});
