/** Accessibility rules of axe-core, checked on a page in a browser. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from './browser.ts';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The rules that a page breaks, each with some of the elements. */
export async function axeFindings(page: Page): Promise<unknown> {
  // A text that is fading in has no contrast yet.
  await page.until(
    'document.getAnimations().every(({ playState, effect }) => playState !== "running" || effect.getComputedTiming().endTime === Infinity)',
  );
  await page.evaluate(`${AXE}; true`);
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html, failureSummary }) => html + failureSummary)].join('\\n')))`);
}
