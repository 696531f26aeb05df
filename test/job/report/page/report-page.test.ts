import { hash } from 'node:crypto';
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { TimelineSlot } from '../../../../src/job/report/report-parts.ts';
import { pageData as pageDataOf, type PageData } from '../../../../src/job/report/page/page-data.ts';
import { buildReport } from '../../../../src/job/report/report.ts';
import { reportPage } from '../../../../src/job/report/page/report-page.ts';
import { count } from '../../../../src/util/display.ts';
import { expectClosed, unescaped } from '../../../support/html.ts';
import { requestsIn, sectionsOf } from '../../../support/report-page.ts';
import { PROVIDERS_CHECKPOINT, PROVIDERS_JOB } from '../../../support/provider-report.ts';
import { pageData } from './samples.ts';

const [SAMPLE = null as unknown as PageData] = fc.sample(pageData, { numRuns: 1, seed: 11 });
const { open: _open, people: _people, companies: _companies, ...SAMPLE_REPORT } = SAMPLE.report;
const PLAIN: PageData = {
  ...SAMPLE,
  report: {
    ...SAMPLE_REPORT,
    job: 'nightly',
    exitCode: 0,
    records: { total: 4, matched: 3, no_match: 1, invalid: 0, suppressed: 0, failed: 0 },
    calls: { enrich: 7 },
    quota: { rpm: 600, usedShare: 0.5, goesOnAt: null },
    output: { uri: 's3://bucket/a b/out.csv', rows: 4, bytes: 1_234, sha256: null },
    errors: {},
    files: null,
    previous: null,
  },
};
const slot = (second: number, requests: number, permitted: number | null, more: object = {}): TimelineSlot => ({
  at: new Date(second * 1_000).toISOString(),
  requests,
  permitted,
  throttledMs: 0,
  downMs: 0,
  waitedMs: 0,
  ...more,
});
const withSlots = (...slots: readonly TimelineSlot[]): PageData => ({
  ...PLAIN,
  report: { ...PLAIN.report, timeline: { slotMs: 1_000, slots } },
});
const requestsOf = (data: PageData): string => sectionsOf(reportPage(data))['Requests against quota'] ?? '';

/** Texts that JavaScript prints for a missing number or value. */
const NO_VALUE = /NaN|Infinity|undefined/;

const positive = (counts: Readonly<Record<string, number>>): number[] => Object.values(counts).filter((n) => n > 0);
const SECTIONS = [
  'What to do next',
  'Outcomes',
  'Verdicts',
  'Errors',
  'Requests against quota',
  'Waits',
  'Latency',
  'Slow and repeated lookups',
  'Cost',
  'Runs',
  'Files',
];

const PROVIDERS = buildReport(PROVIDERS_CHECKPOINT, PROVIDERS_JOB);
const providersIn = (report: PageData['report']): string =>
  sectionsOf(reportPage(pageDataOf(PROVIDERS_CHECKPOINT, report)))['Providers'] ?? '';

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
        for (const [, target = ''] of page.matchAll(/href="([^"]*)"/g))
          expect(target).toMatch(/^(?:\.\/[^/\\:]*|#(?:requests|latency)-legend)$/);
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
        expect(Object.keys(sections)).toEqual(SECTIONS);
        const rows = (sections['Waits'] ?? '').match(/<tr><td>2026-03-01 00:30:00<\/td>/g) ?? [];
        expect(rows).toHaveLength(data.report.waits.list.length);
        for (const [name, n] of Object.entries(records))
          if (name !== 'total')
            expect(sections['Outcomes']).toMatch(
              new RegExp(`<code>${name}</code>[^<]*</td><td data-of="records.${name}">${count(n)}</td>`),
            );
        expect(sections['Outcomes']?.includes('data-of="open"')).toBe(data.report.open !== undefined);
        for (const kind of ['people', 'companies'] as const)
          expect(reportPage(data).includes(`data-of="${kind}.matchRate"`)).toBe(data.report[kind] !== undefined);
        const before = data.report.previous?.verification ?? {};
        // Verdicts that only the last run had.
        const gone = Object.entries(before).flatMap(([name, n]) =>
          n > 0 && !(Object.hasOwn(verification, name) && (verification[name] ?? 0) > 0) ? [0] : [],
        );
        const numbers = (of: string): string[] =>
          [...(sections[of] ?? '').matchAll(/<td data-of="(?:verification|errors)\.[^"]*">([\d,]+)<\/td>/g)].map(([, n = '']) => n);
        expect(numbers('Verdicts').sort()).toEqual([...positive(verification), ...gone].map(count).sort());
        if (records.failed + records.invalid > 0) expect(numbers('Errors').sort()).toEqual(positive(data.report.errors).map(count).sort());
        const costs = [...(sections['Cost'] ?? '').matchAll(/<td[^>]*>([\d,]+)<\/td>/g)].map(([, n = '']) => n);
        expect(costs).toEqual(
          expect.arrayContaining([credits, ...Object.values(calls), lookups.unique, lookups.fromLedger, retries].map(count)),
        );
        const charted = data.report.timeline.slots.reduce((sum, one) => sum + one.requests, 0);
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

  it('counts open rows, links to them, and says what a retry does', () => {
    const page = reportPage({ ...PLAIN, report: { ...PLAIN.report, open: 3 } });
    expect(sectionsOf(page)['Outcomes']).toContain('Open: <span data-of="open">3</span> rows (75.0 %) lack a field');
    expect(sectionsOf(page)['What to do next']).toMatch(
      /out\.csv\.open\.jsonl.*<code>millrace retry<\/code> asks the providers that gave no/,
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
    expect([...page.matchAll(/href="(\.[^"]*)"/g)].map(([, target]) => target)).toEqual([
      './a%20b%23%3F.csv.errors.jsonl',
      './a%20b%23%3F.csv.errors.jsonl',
      './a%20b%23%3F.csv.report.json',
    ]);
  });

  it.each([
    [0, 0, 'good', 'Finished (exit code 0)', /^<p>Nothing\.<\/p>$/],
    [0, 2, 'warn', 'Finished (exit code 0): 2 records failed, no more than <code>limits.maxErrors</code> permits', /millrace retry/],
    [1, 1, 'bad', 'Finished with exit code 1: 1 of 4 records failed', /out\.csv\.errors\.jsonl.*millrace retry/],
  ])('names exit code %i, %i failed records and the next step', (exitCode, failed, kind, words, next) => {
    const report = { ...PLAIN.report, exitCode, exitReasons: ['1 of 4 records failed'], records: { ...PLAIN.report.records, failed } };
    const page = reportPage({ ...PLAIN, report });
    expect(page).toContain(`<p class="state ${kind}">${words}</p>`);
    expect(sectionsOf(page)['What to do next']).toMatch(next);
  });

  it('shows gaps in which nothing ran, and cuts a burst so that the rest can be seen', () => {
    expect(requestsOf(withSlots(slot(100, 3, 10), slot(101, 4, 10)))).not.toMatch(/nothing ran|more than fits/);
    const text = requestsOf(withSlots(slot(100, 500, 10), slot(101, 4, 10), slot(3_701, 3, 10)));
    expect(text).toContain('<td>nothing ran for about 59 min 59 s</td>');
    expect(text).toContain('<path class="gap" d="M2 0V100"/>');
    expect(text).toContain('more than fits (the most: 500)');
    expect(text).toContain('<div class="ticks"><span>40</span><span>20</span><span>0</span></div>');
    expect(text).toContain('<span>requests in 1 s</span>');
  });

  it('says at each bar when it was, what was sent, and what held it up', () => {
    const text = requestsOf(
      withSlots(slot(100, 3, 10, { throttledMs: 800, waitedMs: 800 }), slot(101, 0, 10, { downMs: 1_000 }), slot(102, 1, null)),
    );
    expect([...text.matchAll(/<g class="value" tabindex="0" role="img"><title>([^<]*)<\/title>/g)].map(([, title]) => title)).toEqual([
      '1970-01-01 00:01:40 UTC, 1 s; 3 requests of 10 permitted; "later" for 1 s, waited 1 s',
      '1970-01-01 00:01:41 UTC, 1 s; 0 requests of 10 permitted; down for 1 s',
      '1970-01-01 00:01:42 UTC, 1 s; 1 request',
    ]);
    for (const name of ['later', 'down', 'bar', 'plan', 'wait']) expect(text).toContain(`<path class="${name}" d="M`);
    expect(text).toContain('<path class="later" d="M0.00 100v-100.0h0.80V100z"/>');
    expect(text).toMatch(/the service said "later" .* 1 s together.*the service was down, 1 s together.*below the axis/s);
  });

  it('counts the pauses that the service asked for by their cause, in words, and names no cause that it does not know', () => {
    const costOf = (throttled: PageData['report']['throttled']): string =>
      sectionsOf(reportPage({ ...PLAIN, report: { ...PLAIN.report, throttled } }))['Cost'] ?? '';
    const causes = { retry_after: 1_200, used_up: 3, unstated: 41 };
    const rows = costOf({ events: 1_244, waitedMs: 65_000, causes }).matchAll(
      /<td>of them ([^\n]*?)<\/td><td data-of="throttled\.causes\.(\w+)">([\d,]+)<\/td>/g,
    );
    expect([...rows].map(([, words, cause, n]) => [cause, n, words])).toEqual([
      ['retry_after', '1,200', 'as long as <code>Retry-After</code> said'],
      ['used_up', '3', 'until the reset of a quota that was used up'],
      ['unstated', '41', 'where the service did not say for how long'],
    ]);
    expect(costOf({ events: 1, waitedMs: 5_000, causes: { unstated: 1 } }).match(/throttled\.causes/g)).toHaveLength(1);
    // A checkpoint of an earlier version has none.
    expect(costOf({ events: 7, waitedMs: 65_000 })).not.toContain('throttled.causes');
  });

  it('compares outcomes, verdicts and rates with the last run', () => {
    const records = { total: 10, matched: 6, no_match: 4, invalid: 0, suppressed: 0, failed: 0 };
    const previous = {
      startedAt: '2026-02-28T00:00:00Z',
      finishedAt: '2026-02-28T01:00:00Z',
      exitCode: 0,
      records,
      verification: { deliverable: 4, risky: 1 },
      credits: 11,
      recordsPerSecond: 2.5,
      matchRate: 0.6,
      deliverableRate: 0.8,
      people: { matched: 6, no_match: 4, matchRate: 0.6 },
    };
    const people = { matched: 3, no_match: 1, matchRate: 0.75 };
    const companies = { matched: 1, no_match: 9, matchRate: 0.1 };
    const report = { ...PLAIN.report, verification: { deliverable: 3 }, people, companies, deliverableRate: 1, previous };
    const page = reportPage({ ...PLAIN, report });
    const { Outcomes, Verdicts } = sectionsOf(page);
    expect(Outcomes).toMatch(/matched<\/code> found<\/td><td [^>]*>3<\/td><td>75\.0 %<\/td><td>6<\/td><td>\+15\.0<\/td>/);
    expect(Verdicts).toMatch(/deliverable<\/code><\/td><td [^>]*>3<\/td><td>75\.0 %<\/td><td>4<\/td><td>\+35\.0<\/td>/);
    // A verdict that only the last run had.
    expect(Verdicts).toMatch(/risky<\/code><\/td><td [^>]*>0<\/td><td>0\.0 %<\/td><td>1<\/td><td>−10\.0<\/td>/);
    expect(page).toContain(
      '<b><span data-of="people.matchRate">75.0 %</span></b> People matched<small>last run 60.0 %, +15.0 points</small>',
    );
    expect(page).toContain('<b><span data-of="companies.matchRate">10.0 %</span></b> Companies matched</li>');
    expect(page).toContain('<dd>2026-02-28 01:00:00, exit code 0, 10 records</dd>');
    expect(reportPage(PLAIN)).toContain('<dd>no report of one was found</dd>');
  });

  it('says of each error code what happened and what to do', () => {
    const records = { ...PLAIN.report.records, failed: 2, invalid: 3 };
    const report = { ...PLAIN.report, records, errors: { 'enrich:timeout': 2, 'input:no_key': 3 } };
    const { Errors = '' } = sectionsOf(reportPage({ ...PLAIN, report }));
    expect(Errors).toMatch(/input <code>no_key<\/code>.*The record has nothing to look up.*<br>Fill them in the input/);
    expect(Errors).toMatch(/enrich <code>timeout<\/code>.*<br>Run <code>millrace retry<\/code>, which asks for these records alone; raise/);
  });

  it('shows how each run of the job ended', () => {
    const run = { startedAt: '2026-03-01T00:00:00Z', endedAt: '2026-03-01T00:10:00Z', command: 'millrace run nightly', version: '1.2.3' };
    const list = [
      { ...run, end: 'killed', code: null },
      { ...run, end: 'stopped', code: 'signalled', shard: '1/4' },
      { ...run, end: 'finished', code: null },
    ] as const;
    const report = { ...PLAIN.report, runs: { count: 40, killed: 1, list } };
    const { Runs = '' } = sectionsOf(reportPage({ ...PLAIN, report }));
    expect(Runs).toContain('<span data-of="runs.count">40</span> runs: the start, and each resume and retry.');
    expect(Runs).toContain('The latest 3:');
    expect(Runs).toMatch(/killed: it could not write.*stopped: <code>signalled<\/code>.*\(shard 1\/4\).*>finished</s);
  });

  it('lists slow and repeated lookups by file and line, the first five at once', () => {
    const call = { file: 'in.csv', step: 'verify', keys: 500, sent: 3, code: 'timeout', requestId: 'r-1' } as const;
    const slowest = Array.from({ length: 7 }, (_, i) => ({ ...call, line: i + 2, latencyMs: 30_000 - i }));
    const { 'Slow and repeated lookups': text = '' } = sectionsOf(
      reportPage({ ...PLAIN, report: { ...PLAIN.report, slowest, mostRetried: slowest.slice(0, 1) } }),
    );
    expect(text).toContain(
      '<code>in.csv</code> line 2</td><td><code>verify</code>, 500 addresses</td><td>3 times</td><td><code>timeout</code>',
    );
    expect(text.match(/<summary>All 7<\/summary>/g)).toHaveLength(1);
    expect(text.slice(0, text.indexOf('<summary>')).match(/line \d/g)).toHaveLength(5);
  });

  it('draws no limit line for an unlimited plan', () => {
    const data = withSlots(slot(100, 3, null), slot(101, 7, null));
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
  'ul',
  'li',
  'b',
  'small',
  'br',
  'g',
  'text',
  'tspan',
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
  'y',
  'd',
  'id',
  'tabindex',
  'scope',
  'data-of',
]);

describe('the providers on the page', () => {
  it('the providers are rows in the order asked: what each was asked, brought and cost', () => {
    const rows = [...providersIn(PROVIDERS).matchAll(/<tr>(<td>.*?)<\/tr>/g)].map(([, row = '']) =>
      row.split('</td>').map((cell) => unescaped(cell.replaceAll(/<[^>]*>/g, ''))),
    );
    expect(rows.map((row) => row.slice(0, -1))).toEqual([
      ['enrich alpha', '1,200', '600', '50.4 %', '600', '600', '1,800', '10', '0', '1,205', '600', '12.00 EUR', '0.02 EUR'],
      ['enrich beta', '600', '300', '50.0 %', '300', '300', '900', '0', '0', '295', '600', '60.00 EUR', '0.2 EUR'],
      ['verify gamma', '900', '0', '', '0', '0', '0', '0', '900', '5', '0', '', ''],
      ['verify beta', '900', '900', '100.0 %', '900', '800', '800', '0', '0', '900', '900', '90.00 EUR', '0.1125 EUR'],
    ]);
  });

  it('the providers have a sentence for one that the run went on without, whose text stays text', () => {
    expect(providersIn(PROVIDERS)).toContain('went on without <code>gamma</code>: it has been down for 10 min.');
    const { gamma } = PROVIDERS.providers ?? {};
    if (gamma === undefined) throw new Error('gamma is missing');
    const page = providersIn({ ...PROVIDERS, providers: { ...PROVIDERS.providers, gamma: { ...gamma, skipped: '<b>\u001b[2J' } } });
    expect(page).toContain('&lt;b&gt;\ufffd[2J');
    expectClosed(page);
  });

  it('the providers have a sentence for one whose credits are a lower bound', () => {
    const { gamma } = PROVIDERS.providers ?? {};
    if (gamma === undefined) throw new Error('the report has no such provider');
    expect(providersIn(PROVIDERS)).not.toContain('at least');
    const page = providersIn({ ...PROVIDERS, providers: { ...PROVIDERS.providers, gamma: { ...gamma, creditsAtLeast: 1_234 } } });
    expect(page).toContain('<code>gamma</code> has charged at least <span data-of="providers.gamma.creditsAtLeast">1,234</span> credits');
  });

  it('the providers are named in place of the one service, and their quotas in place of its plan', () => {
    const page = reportPage(pageDataOf(PROVIDERS_CHECKPOINT, PROVIDERS));
    expect(page).toContain('<dt>Providers</dt><dd><code>alpha</code>: <code>https://alpha.example</code>, plan pro<br>');
    expect(page).not.toContain('<dt>Service</dt>');
    expect(page).toContain('Each provider has its own quota.');
    expect(page).not.toMatch(NO_VALUE);
  });

  it('the providers are no section of a job with one service', () => {
    expect(Object.keys(sectionsOf(reportPage(PLAIN)))).not.toContain('Providers');
  });
});
