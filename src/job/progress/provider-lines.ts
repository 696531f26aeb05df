/** The lines of a summary about the providers that a job names. Pure. */
import { moneyText } from '../../definition/credit-price.ts';
import { count } from '../../util/display.ts';
import { cut } from '../../util/text-table.ts';
import { wrapWords } from '../../util/wrap-words.ts';
import { inAskedOrder, type ProviderStep } from '../report/provider-figures.ts';
import type { Report } from '../report/report.ts';
import type { Step } from '../../steps/registry.ts';

const COLUMNS = 80;
const HEAD = ['asked', 'matched', 'rows', 'credits', 'cost'];

/** A table of who brought what: a line for each step of each provider, in the order in which they are asked. Empty without providers. */
export function providerLines({ providers, steps }: Pick<Report, 'providers' | 'steps'>): string[] {
  if (providers === undefined) return [];
  const rows: Row[] = [{ name: 'providers', cells: HEAD }];
  let last: Step | null = null;
  for (const { step, name, figures } of inAskedOrder(providers, steps)) {
    if (step !== last) rows.push({ name: `  ${step}`, cells: [] });
    last = step;
    rows.push({ name: `    ${name}`, cells: cellsOf(figures) });
  }
  const skipped = Object.entries(providers).flatMap(([name, provider]) =>
    provider.skipped === null ? [] : wrapWords(`The latest run went on without ${name}: ${provider.skipped}.`, COLUMNS - 1),
  );
  return [...aligned(rows), ...skipped];
}

interface Row {
  readonly name: string;
  readonly cells: readonly string[];
}

function cellsOf({ asked, matched, matchRate, rows, credits, cost }: ProviderStep): string[] {
  const share = matchRate === null ? count(matched) : `${(matchRate * 100).toFixed(1)} %`;
  return [count(asked), share, count(rows), count(credits), cost === undefined ? '' : moneyText(cost)];
}

/** The names are cut where the line would be too long. */
function aligned(rows: readonly Row[]): string[] {
  const widths = HEAD.map((_, index) => Math.max(...rows.map(({ cells }) => (cells[index] ?? '').length)));
  const room = COLUMNS - 1 - widths.reduce((sum, width) => sum + width + 2, 0);
  const most = Math.min(room, Math.max(...rows.map(({ name }) => name.length)));
  return rows.map(({ name, cells }) =>
    [cut(name, most).padEnd(most), ...cells.map((cell, index) => cell.padStart(widths[index] ?? 0))].join('  ').trimEnd(),
  );
}
