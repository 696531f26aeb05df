import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { providerLines } from '../../../src/job/progress/provider-lines.ts';
import { summaryTable } from '../../../src/job/progress/summary.ts';
import { buildReport, type Report } from '../../../src/job/report/report.ts';
import { PROVIDERS_CHECKPOINT, PROVIDERS_JOB } from '../../support/provider-report.ts';

const REPORT = buildReport(PROVIDERS_CHECKPOINT, PROVIDERS_JOB);

describe('the providers in a summary', () => {
  it('the lines are a table in the order asked, with the reason why one was left out', () => {
    expect(providerLines(REPORT).join('\n')).toBe(`providers  asked  matched  rows  credits       cost
  enrich
    alpha  1,200   50.4 %   600      600  12.00 EUR
    beta     600   50.0 %   300      600  60.00 EUR
  verify
    gamma    900        0     0        0
    beta     900  100.0 %   800      900  90.00 EUR
The latest run went on without gamma: it has been down for 10 min.`);
    expect(summaryTable(REPORT, null)).toContain('    beta     600   50.0 %   300      600  60.00 EUR\n');
  });

  it('the lines fit 80 columns, whatever the names and counts', () => {
    const n = fc.nat({ max: 99_999_999 });
    const name = fc.integer({ min: 1, max: 40 }).map((length) => 'a'.repeat(length));
    fc.assert(
      fc.property(name, n, n, fc.nat({ max: 9_999_999 }), fc.lorem({ maxCount: 40 }), (called, asked, rows, amount, why) => {
        const { alpha } = REPORT.providers ?? {};
        const figures = alpha?.steps.enrich;
        if (alpha === undefined || figures === undefined) throw new Error('alpha is missing');
        const cost = { amount, currency: 'EUR' };
        const report: Report = {
          ...REPORT,
          providers: { [called]: { ...alpha, skipped: why, steps: { enrich: { ...figures, asked, rows, credits: rows, cost } } } },
        };
        for (const line of providerLines(report)) expect(line.length).toBeLessThanOrEqual(80);
      }),
    );
  });
});
