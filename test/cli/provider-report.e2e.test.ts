/** A job with two providers: what the plan expects, and what its reports say, by the providers' own books. */
import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/job/report/report.ts';
import { ensurePackage } from '../services/debian.ts';
import { axeFindings } from '../support/axe.ts';
import { BROWSER, withPage } from '../support/browser.ts';
import { Folder, type Ended } from '../support/cli.ts';
import { differences, shownFigures } from '../support/read-figures.ts';
import { reportInStatus, schemaFaults } from '../support/report-schema.ts';
import { ScriptedService, problem } from '../support/scripted-service.ts';

const ROWS = 40;
const emails = Array.from({ length: ROWS }, (_, i) => `person${i}@works${i}.example`);
/** The first provider knows every second person. */
const isKnownFirst = (email: string): boolean => Number(/\d+/.exec(email)?.[0]) % 2 === 0;

interface Planned {
  readonly providers: Record<
    string,
    { steps: Record<string, { lookups: object; fromLedger: number; requests: object; matchRate: number | null }> }
  >;
  readonly orders: Record<string, { cheapest: string[] | null; unit: string }>;
  readonly requests: { total: number };
}

describe('a job with two providers', () => {
  let folder: Folder;
  let first: ScriptedService;
  let second: ScriptedService;
  let report: Report;
  let before: Planned;
  let said: Ended;
  const plan = async (...more: string[]): Promise<Planned> =>
    JSON.parse((await folder.run(['plan', 'job.yaml', '--json', ...more])).stdout) as Planned;

  beforeAll(async () => {
    [folder, first, second] = await Promise.all([Folder.make(), ScriptedService.start(), ScriptedService.start()]);
    first.script = ({ path, keys }, _response, reply, usual) =>
      reply(path === 'enrich' && !isKnownFirst(keys[0] ?? '') ? problem(404, 'no_match') : usual());
    await writeFile(folder.at('in.csv'), `email\n${emails.join('\n')}\n`);
    await writeFile(
      folder.at('job.yaml'),
      `input: {uri: in.csv}
output: {uri: out.csv}
providers:
  alpha: {use: millrace, baseUrl: "${first.url}", plan: enterprise, creditPrice: 0.03 EUR}
  beta: {use: millrace, baseUrl: "${second.url}", plan: enterprise, creditPrice: 0.01 EUR}
steps:
  - enrich: {from: [alpha, beta]}
  - verify: {from: beta}
`,
    );
    before = await plan('--match-rate', '50%');
    said = await folder.run(['run', 'job.yaml', '--progress', 'log']);
    report = (await folder.json('out.csv.report.json')) as unknown as Report;
  });
  afterAll(async () => {
    await Promise.all([folder.remove(), first.stop(), second.stop()]);
  });

  it('the job is planned by the match rates', () => {
    expect(before.providers['alpha']?.steps['enrich']).toMatchObject({
      lookups: { atMost: ROWS, expected: ROWS },
      requests: { atMost: ROWS, expected: ROWS },
    });
    expect(before.providers['beta']?.steps).toMatchObject({
      enrich: { lookups: { atMost: ROWS, expected: ROWS / 2 }, matchRate: 0.5 },
      verify: { lookups: { atMost: ROWS, expected: ROWS }, requests: { atMost: 1, expected: 1 } },
    });
    expect(before.orders['enrich']).toMatchObject({ cheapest: ['beta', 'alpha'], unit: 'EUR' });
  });

  it('the job reports the calls and credits of each provider as their own books have them', () => {
    expect(said.code).toBe(0);
    expect(schemaFaults(report)).toEqual([]);
    const { alpha, beta } = report.providers ?? {};
    expect(alpha).toMatchObject({
      definition: 'millrace',
      url: first.url,
      plan: 'enterprise',
      calls: first.callsMade,
      credits: first.credits,
    });
    expect(beta).toMatchObject({ calls: second.callsMade, credits: second.credits, skipped: null });
    const half = ROWS / 2;
    expect(alpha?.steps.enrich).toMatchObject({
      asked: ROWS,
      matched: half,
      missed: half,
      rows: half,
      first: half,
      credits: half,
      creditsPerRow: 1,
    });
    expect(beta?.steps.enrich).toMatchObject({
      place: 2,
      asked: half,
      matched: half,
      first: half,
      costPerRow: { amount: 0.01, currency: 'EUR' },
    });
    expect(beta?.steps.verify).toMatchObject({ asked: ROWS, matched: ROWS, credits: ROWS });
    expect(report.cost).toEqual({ amount: 1.2, currency: 'EUR' });
  });

  it('the job has the same figures in the summary and in its status', async () => {
    expect(said.stderr).not.toContain('NaN');
    const status = await folder.run(['status', 'job.yaml']);
    expect(status.stdout).toMatch(/^ {4}beta +20 +100\.0 % +20 +20 +0\.20 EUR$/m);
    const json = await folder.run(['status', 'job.yaml', '--json']);
    expect(reportInStatus(json.stdout)['providers']).toEqual(report.providers);
  });

  it('the job is planned by the ledger once it has run', async () => {
    await folder.run(['run', 'job.yaml']);
    const after = await plan();
    expect(after.requests.total).toBe(0);
    const again = await plan('--fresh');
    // The first provider has missed half of them, so nothing is left to pay for at either.
    expect(again.providers['alpha']?.steps['enrich']).toMatchObject({
      lookups: { atMost: 0, expected: 0 },
      fromLedger: ROWS,
      matchRate: 0.5,
    });
    expect(again.providers['beta']?.steps['enrich']).toMatchObject({ lookups: { atMost: 0 }, fromLedger: ROWS / 2, matchRate: 1 });
  });

  it('the job is planned by what the ledger knows of other rows', async () => {
    await writeFile(
      folder.at('more.csv'),
      `email\n${emails.join('\n')}\n${Array.from({ length: 10 }, (_, i) => `new${i}@new${i}.example`).join('\n')}\n`,
    );
    const more = await plan('--input', 'more.csv', '--output', 'more-out.csv', '--ledger', 'out.csv.ledger', '--fresh');
    expect(more.providers['beta']?.steps['enrich']).toMatchObject({ lookups: { atMost: 10, expected: 5 }, fromLedger: ROWS / 2 });
    const text = await folder.run([
      'plan',
      'job.yaml',
      '--input',
      'more.csv',
      '--output',
      'more-out.csv',
      '--ledger',
      'out.csv.ledger',
      '--fresh',
    ]);
    expect(text.stdout).toMatch(/^ {2}beta +100 % +5 +10 +5 +5$/m);
    // The other order would ask beta for all whom alpha is known to know.
    expect(text.stdout).toContain('Cheapest order for enrich: the one given, about 0.20 EUR.');
  });

  describe.runIf(ensurePackage(BROWSER))('the page of such a job in a browser', () => {
    it.each([400, 1_280])('the page shows every figure of each provider, and breaks no rule of axe, at %i pixels', async (width) => {
      await withPage(width, async (page) => {
        await page.open(pathToFileURL(folder.at('out.csv.report.html')).href);
        const figures = await shownFigures(page);
        expect(differences(figures, report)).toEqual([]);
        const shown = new Set(figures.map(([path]) => path));
        const wanted = Object.entries(report.providers ?? {}).flatMap(([name, { steps }]) =>
          Object.keys(steps).flatMap((step) =>
            [
              'asked',
              'matched',
              'matchRate',
              'first',
              'rows',
              'fields',
              'failed',
              'unavailable',
              'credits',
              'cost.amount',
              'costPerRow.amount',
            ]
              .map((key) => `providers.${name}.steps.${step}.${key}`)
              .concat(`providers.${name}.calls.${step}`),
          ),
        );
        expect(wanted.filter((path) => !shown.has(path))).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth === document.documentElement.clientWidth')).toBe(true);
        expect(await axeFindings(page)).toEqual([]);
      });
    });
  });
});
