/** Reads the figures off the report's page, and compares them with `report.json`. */
import type { Page } from './browser.ts';

/** A figure as the page shows it: its path in the report, and its visible text. */
export type ShownFigure = readonly [path: string, text: string];

/** Every figure of the page. Folded tables are opened first. */
export async function shownFigures(page: Page): Promise<ShownFigure[]> {
  return (await page.evaluate(`(() => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    return [...document.querySelectorAll('[data-of]')].map((one) => [one.dataset.of, one.innerText.trim()]);
  })()`)) as ShownFigure[];
}

/** The figures that differ from the report, each with both values. */
export function differences(figures: readonly ShownFigure[], report: unknown): unknown[] {
  return figures.flatMap(([path, text]) => {
    const value = valueAt(report, path);
    return isShownAs(path, value, text) ? [] : [{ path, value, text }];
  });
}

function valueAt(report: unknown, path: string): unknown {
  let value = report;
  for (const key of path.split('.')) value = (value as Record<string, unknown> | undefined | null)?.[key];
  return value;
}

const number = (text: string): number => Number(/^[\d,]+(?:\.\d+)?/.exec(text)?.[0].replaceAll(',', ''));

function isShownAs(path: string, value: unknown, text: string): boolean {
  if (typeof value === 'string') return text.startsWith(value);
  if (typeof value !== 'number') return false;
  if (/(?:Rate|usedShare)$/.test(path)) return text === 'All' ? value === 1 : Math.abs(number(text) / 100 - value) < 0.0006;
  if (/latencyMs|p\d\d$/.test(path)) {
    const shown = number(text) * (text.endsWith(' ms') ? 1 : 1_000);
    return Math.abs(shown - value) <= Math.max(0.6, value * 0.06);
  }
  if (path === 'activeMs') return secondsIn(text) === Math.ceil(value / 1_000);
  return number(text) === value;
}

/** `1 min 50 s` in seconds. */
function secondsIn(text: string): number {
  const part = (unit: string): number => Number(new RegExp(`(\\d+) ${unit}`).exec(text)?.[1] ?? 0);
  return part('h') * 3_600 + part('min') * 60 + part('s');
}
