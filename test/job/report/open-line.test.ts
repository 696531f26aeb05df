import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { Contribution } from '../../../src/processor/contribution.ts';
import { openPart } from '../../../src/processor/open-part.ts';
import { invalid, SUPPRESSED, type RecordResult } from '../../../src/processor/result.ts';
import { openLine } from '../../../src/job/report/open-line.ts';
import { csvRecord, manifestOf } from '../../writer/samples.ts';

const manifest = { ...manifestOf(['email']), files: [{ uri: 'a.csv' }] as never };
const end = (provider: string, kind: Contribution['kind'], more: Partial<Contribution> = {}): Contribution => ({
  step: 'enrich',
  provider,
  kind,
  fields: 0,
  isFirst: false,
  ...more,
});
const MATCHED = end('a', 'matched', { fields: 2 });
const AWAY = end('b', 'unavailable', { code: 'unavailable' });
const OPEN: RecordResult = {
  outcome: 'matched',
  error: null,
  answers: {},
  failure: null,
  contributions: [MATCHED, AWAY],
  open: [{ step: 'enrich', key: 'k', missing: ['title'] }],
};

describe('the open part of a step', () => {
  const rule = { until: ['title', 'company.name'] };
  const part = (record: Readonly<Record<string, unknown>>, ...ends: readonly Contribution[]): readonly string[] | null =>
    openPart('enrich', rule, record, 'k', ends)?.missing ?? null;

  it('has the wanted fields that are empty, where a provider gave no answer', () => {
    expect(part({ title: '', company: { name: 'A' } }, MATCHED, AWAY)).toEqual(['title']);
    expect(part({ title: 'x' }, end('b', 'failed'), MATCHED)).toEqual(['company.name']);
    expect(part({ title: 'x', company: { name: 'A' } }, AWAY, MATCHED)).toBeNull();
  });

  it('does not exist where every provider has answered, where nothing is wanted, or in a job with one service', () => {
    expect(part({}, MATCHED, end('b', 'missed'))).toBeNull();
    expect(openPart('enrich', { until: [] }, {}, 'k', [MATCHED, AWAY])).toBeNull();
    expect(openPart('enrich', rule, {}, 'k', undefined)).toBeNull();
  });

  it('has the verdict, in a step for verdicts that nothing has settled', () => {
    const settling = { until: ['deliverable'] };
    expect(openPart('verify', settling, { result: 'unknown' }, 'a@x.example', [MATCHED, AWAY])).toMatchObject({ missing: ['result'] });
    expect(openPart('verify', settling, { result: 'deliverable' }, 'a@x.example', [AWAY, MATCHED])).toBeNull();
  });
});

describe('a line of the file of open rows', () => {
  it('names what the row lacks, and whom it lacks it of', () => {
    expect(openLine(manifest, csvRecord(['x']), OPEN)).toBe(
      '{"file":"a.csv","line":2,"outcome":"matched","kind":"person","verdict":null,' +
        '"steps":[{"step":"enrich","key":"k","missing":["title"],' +
        '"providers":[{"name":"a","end":"matched","fields":2},{"name":"b","end":"unavailable","code":"unavailable"}]}]}',
    );
  });

  it('exists for no other row: a failed one has its line in the errors file', () => {
    const { open: _, ...whole } = OPEN;
    const failed = { ...OPEN, outcome: 'failed' as const, error: 'verify:timeout' };
    for (const result of [whole, failed, invalid('bad_email'), SUPPRESSED]) expect(openLine(manifest, csvRecord(['x']), result)).toBeNull();
  });

  it('contains no line break, whatever a provider says', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const open = [{ step: 'enrich' as const, key: text, missing: [text] }];
        const contributions = [MATCHED, { ...AWAY, code: text, provider: text }];
        expect(openLine(manifest, csvRecord(['x']), { ...OPEN, open, contributions })).not.toContain('\n');
      }),
    );
  });
});
