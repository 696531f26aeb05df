/** The reference in a real browser: it works offline and by keyboard, keeps its links, and axe finds nothing. */
import { beforeEach, describe, expect, it } from 'vitest';
import { codeSamples, publishedExamples } from '../../../src/service/reference/code-samples.ts';
import { formerAnchors } from '../../../src/service/reference/former-anchors.ts';
import { ensurePackage } from '../../services/debian.ts';
import { axeFindings } from '../../support/axe.ts';
import { BROWSER, withPage, type Page } from '../../support/browser.ts';
import { DOCUMENT } from '../answers.ts';
import { serveStore, temporaryFolder } from '../harness.ts';

/** A dialog covers the page while a request is tried. */
const DIALOG = "document.querySelector('.scalar-client--open [role=dialog]') !== null";

let url = '';
beforeEach(async () => {
  ({ url } = await serveStore({ store: `${await temporaryFolder()}/sample.sqlite`, sample: true }));
});

/** Resolves when the section of a fragment is shown. */
async function openAt(page: Page, fragment: string, place = fragment): Promise<void> {
  // Another fragment of the page that is open would not load it.
  await page.open('about:blank');
  await page.open(`${url}/docs#${fragment}`);
  await page.until(`location.hash === ${JSON.stringify(`#${place}`)} && ${isInView(place)}`);
}

/** The beginning of a place is in the window. */
function isInView(place: string): string {
  const box = `document.getElementById(${JSON.stringify(`api-1/${place}`)})?.getBoundingClientRect()`;
  return `((box) => box !== undefined && box.top < innerHeight && box.bottom > 0)(${box})`;
}

async function click(page: Page, text: string): Promise<void> {
  const isIt = `(one) => one.checkVisibility() && one.textContent.includes(${JSON.stringify(text)})`;
  const button = `[...document.querySelectorAll('button')].find(${isIt})`;
  await page.until(`${button} !== undefined`);
  await page.evaluate(`${button}.click()`);
}

describe.runIf(ensurePackage(BROWSER))('the reference in a browser', () => {
  it('sends every request to its own origin, and breaks no rule of its policy', async () => {
    await withPage(1280, async (page) => {
      await openAt(page, 'tag/Enrichment/enrich');
      await click(page, 'Test Request');
      await page.until(DIALOG);
      expect(page.requests).toEqual(['/docs', '/docs/scalar.js', '/docs/openapi.json'].map((path) => url + path));
      expect(page.complaints).toEqual([]);
    });
  });

  it('has every operation, record and error in its navigation, also by the fragments of the former page', async () => {
    await withPage(1280, async (page) => {
      const anchors = formerAnchors(DOCUMENT);
      for (const former of ['getOpenApi', 'error-rate_limited', 'WebhookList', 'headers', 'events'])
        await openAt(page, former, anchors[former]);
      // The same in a page that is open already.
      await page.evaluate("location.hash = '#records'");
      await page.until("location.hash === '#models'");
      const places = Object.values(anchors);
      expect(places.length).toBeGreaterThan(90);
      for (const group of ['', ' - Errors']) {
        const closed = `[...document.querySelectorAll('button')].filter(({ textContent }) => /^\\s*Open Group${group}/.test(textContent))`;
        await page.until(`${closed}.length > 0`);
        await page.evaluate(`${closed}.forEach((button) => button.click())`);
        await page.until(`${closed}.length === ${group === '' ? 1 : 0}`);
      }
      const links = await page.evaluate("[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))");
      expect(places.filter((place) => !(links as string[]).includes(`#${place}`))).toEqual([]);
    });
  });

  it('works by keyboard: searching, going to an operation, trying it, closing', async () => {
    await withPage(1280, async (page) => {
      const focused = "(document.activeElement?.textContent.trim() ?? '')";
      const tabTo = async (text: string): Promise<void> => {
        // Fewer steps than there are controls before the operation: the page has no trap.
        for (let step = 0; step < 60; step++) {
          await page.press('Tab');
          if (String(await page.evaluate(focused)).startsWith(text)) return;
        }
        throw new Error(`Tab does not lead to ${text}`);
      };
      await openAt(page, 'tag/Signals');
      await page.press('k', true);
      await page.until("document.activeElement?.getAttribute('role') === 'combobox'");
      await page.type('/v1/companies');
      await page.until("document.querySelector('[role=option]') !== null");
      await page.press('ArrowDown');
      expect(await axeFindings(page)).toEqual([]);
      await page.press('Enter');
      await page.until(`location.hash === '#tag/Companies/getCompany' && ${isInView('tag/Companies/getCompany')}`);
      await tabTo('A company by its domain');
      await page.press('Enter');
      await page.until("document.activeElement?.id === 'api-1/tag/Companies/getCompany'");
      await tabTo('Test Request');
      await page.press('Enter');
      await page.until(DIALOG);
      expect(await axeFindings(page)).toEqual([]);
      await page.press('Escape');
      await page.until(`!(${DIALOG}) && ${focused}.startsWith('Test Request')`);
    });
  });

  it('shows the examples in curl and our five languages, and copies one, by keyboard', async () => {
    await withPage(1280, async (page) => {
      await openAt(page, 'tag/Enrichment/enrich');
      const languages = '[aria-label^="Change code sample language"]';
      const inView = (selector: string): string =>
        `[...document.querySelectorAll('[id="api-1/tag/Enrichment/enrich"] ${selector}')].find((one) => one.checkVisibility())`;
      await page.evaluate(`${inView(languages)}.focus()`);
      await page.press('Enter');
      await page.until("document.querySelector('[role=option]') !== null");
      const options = await page.evaluate("[...document.querySelectorAll('[role=option]')].map(({ textContent }) => textContent.trim())");
      expect(options).toEqual(['curl', 'Node', 'Python', 'Ruby', 'Go', 'PHP']);
      expect(await axeFindings(page)).toEqual([]);
      await page.type('Pyth');
      await page.until("document.querySelectorAll('[role=option]').length === 1");
      await page.press('Enter');
      await page.until(`${inView('[aria-label="Code sample: Python"]')} !== undefined`);
      expect(await axeFindings(page)).toEqual([]);

      // Without the permission to use the clipboard, Scalar copies out of a text area.
      await page.evaluate('navigator.clipboard.write = () => Promise.reject(new Error("not permitted")); true');
      await page.evaluate("addEventListener('copy', ({ target }) => { globalThis.copied = target.value; }); true");
      await page.evaluate(`${inView('[aria-label="Copy Python code"]')}.focus()`);
      await page.press('Enter');
      await page.until('globalThis.copied !== undefined');
      const python = codeSamples('enrich', publishedExamples()).find(({ lang }) => lang === 'python')?.source ?? '';
      expect(await page.evaluate('globalThis.copied')).toBe(python.replace('http://127.0.0.1:8080', url));

      // The page keeps the language for every operation.
      await openAt(page, 'tag/Signals/listSignals');
      await page.until(`document.querySelector('[id="api-1/tag/Signals/listSignals"] [aria-label="Code sample: Python"]') !== null`);
      expect(page.requests.every((request) => request.startsWith(url) || request === 'about:blank')).toBe(true);
    });
  });

  it('tells how to install each client library, by keyboard', async () => {
    await withPage(1280, async (page) => {
      await page.open(`${url}/docs`);
      await page.until("document.body.innerText.includes('docs/clients/node.md')");
      expect(await axeFindings(page)).toEqual([]);
      await page.evaluate("document.querySelector('button.client-libraries-more').focus()");
      await page.press('Enter');
      await page.until("document.querySelectorAll('[role=option]').length === 2");
      expect(await axeFindings(page)).toEqual([]);
      await page.type('PHP');
      await page.until("document.querySelectorAll('[role=option]').length === 1");
      await page.press('Enter');
      await page.until("document.body.innerText.includes('docs/clients/php.md')");
      expect(page.complaints).toEqual([]);
    });
  });

  it('sends a tried request to the service, and shows its answer', async () => {
    await withPage(1280, async (page) => {
      await openAt(page, 'tag/Enrichment/enrich');
      await page.evaluate(
        `document.querySelector('[aria-label="Bearer Token"], input[placeholder=Token], [data-placeholder=Token]').focus()`,
      );
      await page.type('sample-key');
      await click(page, 'Test Request');
      await page.until(DIALOG);
      await click(page, 'Send');
      await page.until("document.body.innerText.includes('200 OK') && document.body.innerText.includes('pe_000020')");
      expect(page.requests.at(-1)).toBe(`${url}/v1/enrich`);
      expect(page.complaints).toEqual([]);
    });
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 400],
  ])('axe finds nothing in %s mode at %i pixels', async (mode, width) => {
    await withPage(width, async (page) => {
      await openAt(page, 'tag/Enrichment/enrich');
      await page.evaluate(`document.body.classList.replace('light-mode', '${mode}-mode'); true`);
      expect(await axeFindings(page)).toEqual([]);
      await openAt(page, 'tag/Webhooks/createWebhook');
      expect(await axeFindings(page)).toEqual([]);
      // Wide things scroll by themselves.
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    });
  });
});
