import { hash } from 'node:crypto';
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { PageData } from '../../../../src/job/report/page/page-data.ts';
import { reportPage } from '../../../../src/job/report/page/report-page.ts';
import { count } from '../../../../src/util/display.ts';
import { expectClosed, unescaped } from '../../../support/html.ts';
import { requestsIn, sectionsOf } from '../../../support/report-page.ts';
import { pageData } from './samples.ts';

const [SAMPLE = null as unknown as PageData] = fc.sample(pageData, { numRuns: 1, seed: 11 });
const PLAIN: PageData = {
  ...SAMPLE,
  report: {
    ...SAMPLE.report,
    job: 'nightly',
    exitCode: 0,
    records: { total: 4, matched: 3, no_match: 1, invalid: 0, suppressed: 0, failed: 0 },
    calls: { enrich: 7 },
    quota: { rpm: 600, usedShare: 0.5, goesOnAt: null },
    output: { uri: 's3://bucket/a b/out.csv', rows: 4, bytes: 1_234, sha256: null },
  },
  errors: {},
};
const withSlots = (...slots: readonly (readonly [number: number, calls: number, permitted: number])[]): PageData => ({
  ...PLAIN,
  series: { widthMs: 1_000, slots: slots.map(([number, calls, permitted]) => ({ number, calls, permitted, throttledMs: 0, downMs: 0 })) },
});
const requestsOf = (data: PageData): string => sectionsOf(reportPage(data))['Requests against quota'] ?? '';

/** Texts that JavaScript prints for a missing number or value. */
const NO_VALUE = /NaN|Infinity|undefined/;

describe('the page of the report', () => {
  it('stays valid, small HTML whatever names contain: every text stays text, and nothing is loaded or run', () => {
    fc.assert(
      fc.property(pageData, (data) => {
        const page = reportPage(data);
        expect(page).toBe(reportPage(data));
        expect(Buffer.byteLength(page)).toBeLessThan(150_000);
        expectClosed(page);
        // Every element and attribute is the page's own.
        const elements = [...page.replace(/<style>[^<]*<\/style>/, '').matchAll(/<([a-z!/][^\s>]*)([^>]*)>/gi)];
        expect(page.match(/</g)?.length).toBe(elements.length + 2);
        expect(elements.map(([, element = '']) => element.replace('/', '')).filter((element) => !ELEMENTS.has(element))).toEqual([]);
        const attributes = elements.flatMap(([, , text = '']) =>
          [...text.matchAll(/([\w:-]+)=("[^"]*")/g)].map(([, attribute]) => attribute),
        );
        expect(attributes.filter((attribute) => !ATTRIBUTES.has(attribute ?? ''))).toEqual([]);
        expect(page).not.toMatch(/url\(|@import/);
        for (const [, target = ''] of page.matchAll(/href="([^"]*)"/g)) expect(target).toMatch(/^\.\/[^/\\:]*$/);
        expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        // Unless a name of the data is such a text.
        if (!NO_VALUE.test(JSON.stringify(data))) expect(page).not.toMatch(NO_VALUE);
        expect(page.isWellFormed()).toBe(true);
      }),
    );
  });

  it('shows every figure of the report', () => {
    fc.assert(
      fc.property(pageData, (data) => {
        const { records, verification, credits, lookups, retries, calls } = data.report;
        const sections = sectionsOf(reportPage(data));
        expect(Object.keys(sections)).toEqual([
          'What to do next',
          'Outcomes',
          'Verdicts',
          'Requests against quota',
          'Waits',
          'Latency',
          'Errors',
          'Cost',
        ]);
        const rows = (sections['Waits'] ?? '').match(/<tr><td>2026-03-01 00:30:00<\/td>/g) ?? [];
        expect(rows).toHaveLength(data.report.waits.list.length);
        for (const [name, n] of Object.entries(records))
          if (name !== 'total') expect(sections['Outcomes']).toMatch(new RegExp(`<code>${name}</code>[^<]*</td><td>${count(n)}</td>`));
        const numbers = (of: string): string[] => [...(sections[of] ?? '').matchAll(/<td>([\d,]+)<\/td>/g)].map(([, n = '']) => n);
        expect(numbers('Verdicts').sort()).toEqual(
          Object.values(verification)
            .filter((n) => n > 0)
            .map(count)
            .sort(),
        );
        if (records.failed + records.invalid > 0)
          expect(numbers('Errors').sort()).toEqual(
            Object.values(data.errors)
              .filter((n) => n > 0)
              .map(count)
              .sort(),
          );
        expect(numbers('Cost')).toEqual(
          expect.arrayContaining([credits, ...Object.values(calls), lookups.unique, lookups.fromLedger, retries].map(count)),
        );
        const charted = data.series.slots.reduce((sum, slot) => sum + slot.calls, 0);
        const all = Object.values(calls).reduce((sum, n) => sum + n, 0);
        expect(requestsIn(reportPage(data))).toEqual({ said: all, inTable: charted });
        expect((sections['Requests against quota'] ?? '').includes('an earlier version of Millrace sent them')).toBe(all > charted);
      }),
    );
  });

  it('shows names unchanged, except characters that would mislead', () => {
    const page = (job: string): string => reportPage({ ...PLAIN, report: { ...PLAIN.report, job } });
    expect(unescaped(/<h1>(.*)<\/h1>/.exec(page('a <b> & "c" \'d\' é 漢字'))?.[1] ?? '')).toBe('a <b> & "c" \'d\' é 漢字');
    expect(page('a\u202eb\u001bc')).toContain('<h1>a\ufffdb\ufffdc</h1>');
  });

  it('has a content security policy that permits its own style, and nothing else', () => {
    const page = reportPage(PLAIN);
    const [, style = ''] = /<style>([^<]*)<\/style>/.exec(page) ?? [];
    expect(page).toContain(
      `content="default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'"`,
    );
  });

  it('links to the files beside it, by file name alone', () => {
    const page = reportPage({
      ...PLAIN,
      report: {
        ...PLAIN.report,
        output: { ...PLAIN.report.output, uri: 's3://bucket/x/a b#?.csv' },
        records: { ...PLAIN.report.records, failed: 1 },
      },
    });
    expect([...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual([
      './a%20b%23%3F.csv.errors.jsonl',
      './a%20b%23%3F.csv.errors.jsonl',
      './a%20b%23%3F.csv.report.json',
    ]);
  });

  it.each([
    [0, 0, 'good', 'Finished (exit code 0)', /^<p>Nothing\.<\/p>$/],
    [0, 2, 'warn', 'Finished (exit code 0): 2 records failed, no more than <code>limits.maxErrors</code> permits', /millrace retry/],
    [
      1,
      1,
      'bad',
      'Finished, but 1 record failed: more than <code>limits.maxErrors</code> permits (exit code 1)',
      /out\.csv\.errors\.jsonl.*millrace retry/,
    ],
  ])('names exit code %i, %i failed records and the next step', (exitCode, failed, kind, words, next) => {
    const page = reportPage({ ...PLAIN, report: { ...PLAIN.report, exitCode, records: { ...PLAIN.report.records, failed } } });
    expect(page).toContain(`<p class="state ${kind}">${words}</p>`);
    expect(sectionsOf(page)['What to do next']).toMatch(next);
  });

  it('shows gaps in which nothing ran, and cuts a burst so that the rest can be seen', () => {
    expect(requestsOf(withSlots([100, 3, 10], [101, 4, 10]))).not.toMatch(/nothing ran|more than fits/);
    const text = requestsOf(withSlots([100, 500, 10], [101, 4, 10], [3_701, 3, 10]));
    expect(text).toContain('<td>nothing ran for about 59 min 59 s</td>');
    expect(text).toContain('<path class="gap" d="M2 0V100"/>');
    expect(text).toContain('more than fits (the most: 500)');
    expect(text).toContain('>30 in 1 s<');
  });

  it('draws no limit line for an unlimited plan', () => {
    const data = withSlots([100, 3, 0], [101, 7, 0]);
    const text = requestsOf({ ...data, report: { ...data.report, quota: { rpm: null, usedShare: null, goesOnAt: null } } });
    expect(text).toContain('The plan is unlimited.');
    expect(text).not.toMatch(/class="plan"|dashed/);
  });
});

const ELEMENTS = new Set([
  '!doctype',
  'html',
  'head',
  'meta',
  'title',
  'style',
  'body',
  'header',
  'h1',
  'h2',
  'p',
  'dl',
  'dt',
  'dd',
  'main',
  'section',
  'a',
  'code',
  'div',
  'span',
  'svg',
  'rect',
  'path',
  'figure',
  'figcaption',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
  'details',
  'summary',
  'footer',
]);
const ATTRIBUTES = new Set([
  'lang',
  'charset',
  'http-equiv',
  'content',
  'name',
  'class',
  'href',
  'viewBox',
  'preserveAspectRatio',
  'role',
  'aria-label',
  'aria-hidden',
  'width',
  'height',
  'x',
  'd',
]);
