/**
 * How long a search takes, over a store made of generated contacts: single filters, ten random filters together, and the last page of a long cursor.
 * `npx node bench/search.ts [contacts] [STORE]` after `npm run build`; a STORE that is there already is used as it is.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPANY_WORDS, DEPARTMENTS, INDUSTRIES, SENIORITIES, SKILLS, TECHNOLOGIES } from '../fixtures/generate/business.ts';
import { CULTURES } from '../fixtures/generate/cultures.ts';
import { seeded, type Random } from '../fixtures/generate/random.ts';
import { FILTERS } from '../src/service/search/filters.ts';
import { SearchIndex, SORTS, type Clause, type Sort } from '../src/service/search/search-index.ts';
import { openStore } from '../src/service/store/open-store.ts';
import { machine } from './support/processes.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const QUERIES = 300;
const LIMIT = 25;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = process.argv[3] ?? join(folder, 'store.sqlite');

const DRAWS: Readonly<Record<string, (random: Random) => string>> = {
  title: (random) => random.pick(random.pick(Object.values(DEPARTMENTS)))[0].split(' ')[0] ?? '',
  seniority: (random) => random.pick(SENIORITIES).name,
  department: (random) => random.pick(Object.keys(DEPARTMENTS)),
  skills: (random) => random.pick(random.pick(Object.values(SKILLS))),
  country: (random) => random.pick(CULTURES).code,
  years_experience: (random) => `${random.int(0, 10)}-${random.int(11, 25)}`,
  months_in_role: (random) => `${random.int(0, 30)}-`,
  updated_since: (random) => `2025-0${random.int(1, 9)}-01`,
  has_mobile: (random) => String(random.chance(0.5)),
  email_status: () => 'verified',
  headcount: (random) => `${random.int(1, 200)}-${random.int(201, 5_000)}`,
  revenue: (random) => `${random.int(1, 5)}M-`,
  industry: (random) => random.pick(INDUSTRIES).industry,
  company: (random) => random.pick(COMPANY_WORDS),
  technologies_any: (random) => random.pick(TECHNOLOGIES)[0],
  exclude_technologies: (random) => random.pick(TECHNOLOGIES)[0],
  founded: (random) => `${random.int(1950, 1990)}-`,
  exclude_country: (random) => random.pick(CULTURES).code,
  q: (random) => random.pick(COMPANY_WORDS),
};

function makeStore(): void {
  const run = (script: string, ...args: string[]): void => {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL(script, import.meta.url)), ...args], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  run('../fixtures/generate/large.ts', String(contacts), folder);
  run('../dist/cli/millrace.js', 'import', '--store', path, ...['companies', 'contacts', 'signals'].flatMap((kind) => [`--${kind}`, join(folder, `${kind}.jsonl`)]));
}

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}

try {
  if (!existsSync(path)) makeStore();
  const store = openStore(path);
  const search = new SearchIndex(store, Date.now);
  const random = seeded(1);
  const clausesOf = (names: readonly string[]): Clause[] =>
    names.flatMap((name) => {
      const filter = FILTERS[name];
      const value = DRAWS[name]?.(random) ?? '';
      return filter === undefined ? [] : [filter.compile([value], search.context, () => [])].flat().map((meaning) => ({ ...meaning, exclude: filter.exclude }));
    });
  const report = (what: string, work: () => void): void => {
    const times = Array.from({ length: QUERIES }, () => {
      const started = performance.now();
      work();
      return performance.now() - started;
    }).sort((one, other) => one - other);
    process.stdout.write(`| ${what} | ${percentile(times, 0.5)} | ${percentile(times, 0.95)} | ${percentile(times, 1)} |\n`);
  };
  const sorts = Object.keys(SORTS) as Sort[];
  const anySort = (): { sort: Sort; descending: boolean } => ({ sort: random.pick(sorts), descending: random.chance(0.5) });
  const total = Number(store.prepare('SELECT count(*) AS n FROM people').get()?.['n']);
  process.stdout.write(`${total.toLocaleString('en-US')} contacts; ${machine()}; ${QUERIES} queries a line, any sort\n\n| | p50 ms | p95 ms | longest ms |\n|---|---:|---:|---:|\n`);
  report('one filter', () => void search.find({ clauses: clausesOf([random.pick(Object.keys(DRAWS))]), ...anySort(), after: null, limit: LIMIT }));
  report('ten filters', () => void search.find({ clauses: clausesOf(random.some(Object.keys(DRAWS), 10)), ...anySort(), after: null, limit: LIMIT }));
  const last = store.prepare('SELECT name_key AS key, id FROM people ORDER BY name_key DESC, id DESC LIMIT 1 OFFSET 30').get() as unknown as { key: string; id: string };
  report('the last page of all, by name', () => void search.find({ clauses: [], sort: 'name', descending: false, after: last, limit: LIMIT }));
  process.stdout.write(`\nPeak memory: ${Math.round(process.resourceUsage().maxRSS / 1_024)} MiB\n`);
  store.close();
} finally {
  rmSync(folder, { recursive: true });
}
