/** The live page of a run in a real browser: its numbers are those of report.json, and everybody can read it. */
import { expect, test } from 'vitest';
import { ensurePackage } from '../services/debian.ts';
import { freePort } from '../services/free-port.ts';
import { axeFindings } from '../support/axe.ts';
import { BROWSER, withPage } from '../support/browser.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';

interface Reported {
  readonly records: Readonly<Record<string, number>>;
  readonly verification: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly credits: number;
}

const counted = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((sum, n) => sum + n, 0);

test.runIf(ensurePackage(BROWSER))(
  'the live page has no accessibility fault, follows a run to its end, and stays with the numbers of report.json',
  async () => {
    const { folder, service, args } = await makeWorld(toCsv(leads(300, 9)));
    let answered = 0;
    let goOn: () => void = () => undefined;
    // The middle of the run waits until the page was looked at.
    const held = new Promise<void>((resolve) => {
      service.script = (_asked, _response, reply, usual) => {
        answered++;
        if (answered === 41) {
          goOn = () => reply(usual());
          resolve();
        } else reply(usual());
      };
    });
    const url = `http://127.0.0.1:${await freePort()}/`;
    const flags = {
      monitor: new URL(url).port,
      progress: 'log',
      concurrency: '1',
      'max-errors': '100%',
      'service.creditPrice': '0.01 EUR',
    };
    const run = folder.start(args(flags));
    await run.says(`the run shows itself at ${url}`);
    await held;
    await withPage(1_000, async (page) => {
      await page.open(url);
      await page.until(`document.getElementById('state').textContent === 'running'`);
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulate({ scheme });
        expect(await axeFindings(page)).toEqual([]);
      }
      goOn();
      await page.until(`document.getElementById('state').textContent.startsWith('finished')`);
      expect(await axeFindings(page)).toEqual([]);
      expect((await run.ended).code).toBe(0);
      const { records, verification, errors, credits } = (await folder.json('out.csv.report.json')) as unknown as Reported;
      const shown = async (id: string): Promise<number> =>
        Number(String(await page.evaluate(`document.getElementById('${id}').textContent`)).replaceAll(',', ''));
      expect([await shown('rows'), await shown('credits'), await shown('verdicts'), await shown('errors')]).toEqual([
        records['total'],
        credits,
        counted(verification),
        counted(errors),
      ]);
      const text = String(await page.evaluate('document.body.innerText'));
      for (const [name, n] of Object.entries({ ...verification, matched: records['matched'] ?? 0 })) expect(text).toContain(`${name} ${n}`);
      // The process has ended, and the page stays with what it showed.
      expect(await page.evaluate(`document.getElementById('state').textContent`)).toMatch(/^finished/);
      expect(page.complaints.filter((line) => !line.includes('ERR_CONNECTION_REFUSED'))).toEqual([]);
      expect(page.requests.every((request) => request.startsWith(url))).toBe(true);
    });
  },
);
