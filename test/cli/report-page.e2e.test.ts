/** The page of a real report in a real browser: its figures are those of report.json, and everybody can read it. */
import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/job/report/report.ts';
import { ensurePackage } from '../services/debian.ts';
import { axeFindings } from '../support/axe.ts';
import { BROWSER, withPage, type Page } from '../support/browser.ts';
import { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { differences, shownFigures } from '../support/read-figures.ts';
import { ScriptedService } from '../support/scripted-service.ts';
import { flags } from '../support/world.ts';

const WIDTHS = [400, 1_280];
const FLAGS = {
  input: 'in.csv',
  output: 'out.csv',
  progress: 'none',
  'checkpoint.everyMs': '50',
  'service.creditPrice': '0.012 EUR',
  'output.split': 'verdict',
};

describe.runIf(ensurePackage(BROWSER))('the page of a report in a browser', () => {
  let report: Report;
  let url = '';
  let end: () => Promise<unknown> = async () => undefined;
  afterAll(() => end());

  // A job with a run before it, a kill, failures, a pause, an outage and a retry.
  beforeAll(async () => {
    const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
    end = () => Promise.all([folder.remove(), service.stop()]);
    const args = ['run', ...flags({ ...FLAGS, 'base-url': service.url, 'max-errors': '1%' })];
    // After a kill, a limited plan would first wait for the rest of its minute.
    const unlimited = [...args, '--plan', 'enterprise'];
    await writeFile(folder.at('in.csv'), toCsv(leads(60, 3)));
    await folder.run(unlimited);
    await writeFile(folder.at('in.csv'), toCsv(leads(300, 4)));
    service.latencyMs = 5;
    const killed = folder.start(unlimited);
    await service.sees(40);
    killed.kill('SIGKILL');
    await killed.ended;
    let enriched = 0;
    service.script = ({ path }, _response, reply, usual) => {
      if (path === 'enrich') enriched++;
      if (enriched === 20) reply({ status: 429, headers: { 'retry-after': '1' }, body: '{}' });
      else if (enriched > 60 && enriched < 80) reply({ status: 500, body: '{}' });
      else reply(usual());
    };
    expect((await folder.run(unlimited)).code).toBe(1);
    expect((await folder.run(['retry', ...args.slice(1), '--rpm', '60000'])).code).toBe(1);
    report = (await folder.json('out.csv.report.json')) as unknown as Report;
    expect(report).toMatchObject({ runs: { killed: 1 }, throttled: { events: 1 } });
    expect(report.timeline.slots.some(({ downMs }) => downMs > 0)).toBe(true);
    url = pathToFileURL(folder.at('out.csv.report.html')).href;
  });

  it.each(WIDTHS)('shows every figure as report.json has it, at %i pixels', async (width) => {
    await withPage(width, async (page) => {
      await page.open(url);
      const figures = await shownFigures(page);
      expect(differences(figures, report)).toEqual([]);
      const shown = new Set(figures.map(([path]) => path));
      expect(figuresOf(report).filter((path) => !shown.has(path))).toEqual([]);
      expect(page.requests).toEqual([url]);
      expect(page.complaints).toEqual([]);
      // Wide tables scroll by themselves.
      expect(await page.evaluate('document.documentElement.scrollWidth === document.documentElement.clientWidth')).toBe(true);
    });
  });

  it('shows the values of a bar where it is focused or pointed at, within the page', async () => {
    await withPage(400, async (page) => {
      await page.open(url);
      const titles = (await page.evaluate(
        "document.getElementById('requests-legend').closest('figure').querySelectorAll('.value title').length",
      )) as number;
      expect(titles).toBe(report.timeline.slots.length);
      expect(await valuesShown(page)).toEqual([]);
      await tabTo(page, '.value');
      const [{ text, isInside } = { text: '', isInside: false }, ...others] = await valuesShown(page);
      expect(others).toEqual([]);
      expect(isInside).toBe(true);
      expect(text).toContain(`${report.timeline.slots[0]?.requests} request`);
    });
  });

  it('lets a keyboard skip the bars', async () => {
    await withPage(1_280, async (page) => {
      await page.open(url);
      await tabTo(page, '.skip');
      await page.press('Enter');
      await page.press('Tab');
      expect(await page.evaluate("document.activeElement.matches('summary')")).toBe(true);
    });
  });

  it('has its tables open on paper, and no value of a bar', async () => {
    await withPage(800, async (page) => {
      await page.open(url);
      await page.emulate({ type: 'print' });
      const isShown = `[...document.querySelectorAll('details td')].every((cell) => cell.checkVisibility())`;
      expect(await page.evaluate(isShown)).toBe(true);
      expect(await valuesShown(page)).toEqual([]);
    });
  });

  describe.each(['light', 'dark'] as const)('in %s mode', (scheme) => {
    it.each(WIDTHS)('breaks no rule of axe at %i pixels, folded or not', async (width) => {
      await withPage(width, async (page) => {
        await page.open(url);
        await page.emulate({ scheme });
        expect(await axeFindings(page)).toEqual([]);
        await shownFigures(page);
        expect(await axeFindings(page)).toEqual([]);
      });
    });
  });
});

/** Presses Tab until the focus is on such an element. @throws Error when it is not among the first stops */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stop = 0; stop < 50; stop++) {
    if (await page.evaluate(`document.activeElement.matches('${selector}')`)) return;
    await page.press('Tab');
  }
  throw new Error(`no ${selector} in fifty stops`);
}

interface ShownValue {
  readonly text: string;
  /** It does not leave the window. */
  readonly isInside: boolean;
}

/** The values of bars that are visible now. */
async function valuesShown(page: Page): Promise<ShownValue[]> {
  return (await page.evaluate(`[...document.querySelectorAll('.value text')]
    .filter((one) => getComputedStyle(one).visibility === 'visible')
    .map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }))
    .map(({ text, box }) => ({ text, isInside: box.left >= 0 && box.right <= innerWidth }))`)) as ShownValue[];
}

/** The figures that the page must show. */
function figuresOf(report: Report): string[] {
  const counted = (name: 'records' | 'verification' | 'errors' | 'calls' | 'lookups' | 'latencyMs'): string[] =>
    Object.keys(report[name]).map((key) => `${name}.${key}`);
  const listed = (['slowest', 'mostRetried'] as const).flatMap((name) =>
    report[name].map((_, i) => `${name}.${i}.${name === 'slowest' ? 'latencyMs' : 'sent'}`),
  );
  return [
    ...(['records', 'verification', 'errors', 'calls', 'lookups', 'latencyMs'] as const).flatMap(counted),
    ...listed,
    ...report.timeline.slots.map((_, i) => `timeline.slots.${i}.requests`),
    ...report.runs.list.map((_, i) => `runs.list.${i}.end`),
    'retries',
    'credits',
    'cost.amount',
    'people.matchRate',
    'deliverableRate',
    'recordsPerSecond',
    'activeMs',
    'quota.rpm',
    'quota.usedShare',
    'throttled.events',
    'output.rows',
    'previous.records.total',
    'previous.credits',
    'runs.count',
    'runs.killed',
  ];
}
