/**
 * How long a search takes, over a store of generated contacts: single filters, ten random filters together, and the last page of a long cursor; and whether each found what a plain scan finds.
 * `npx node bench/search.ts [contacts] [STORE] [queries]` after `npm run build`; a STORE that is there already is used as it is. Ends with 1 when an answer was wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPANY_WORDS, DEPARTMENTS, INDUSTRIES, SENIORITIES, SKILLS, TECHNOLOGIES } from '../fixtures/generate/business.ts';
import { CULTURES } from '../fixtures/generate/cultures.ts';
import { seeded, type Random } from '../fixtures/generate/random.ts';
import { FILTERS, type Clause } from '../src/service/search/filters.ts';
import { SearchIndex } from '../src/service/search/search-index.ts';
import { SORTS } from '../src/service/search/sort-keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import { TODAY } from '../test/service/plain-scan.ts';
import { machine } from './support/processes.ts';
import { PlainSearch, type Question } from './support/plain-search.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const queries = Number(process.argv[4] ?? 1_000);
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
  revenue: (random) => `${random.int(1, 5)}000000-`,
  industry: (random) => random.pick(INDUSTRIES).industry,
  company: (random) => random.pick(COMPANY_WORDS),
  technologies_any: (random) => random.pick(TECHNOLOGIES)[0],
  exclude_technologies: (random) => random.pick(TECHNOLOGIES)[0],
  founded: (random) => `${random.int(1950, 1990)}-`,
  exclude_country: (random) => random.pick(CULTURES).code,
  q: (random) => random.pick(COMPANY_WORDS),
};

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}

const random = seeded(1);
const question = (names: readonly string[]): Question => ({ filters: Object.fromEntries(names.map((name) => [name, [DRAWS[name]?.(random) ?? '']])), sort: random.pick(SORTS), descending: random.chance(0.5) });

/** What is asked, and from where in the order of its results. */
interface Asked {
  readonly question: Question;
  readonly lastPage: boolean;
}

try {
  generatedStore(path, contacts);
  const store = openStore(path);
  const search = new SearchIndex(store, () => Date.parse(TODAY));
  const clausesOf = (filters: Question['filters']): Clause[] =>
    Object.entries(filters).flatMap(([name, values]) => {
      const filter = FILTERS[name];
      return filter === undefined ? [] : [filter.compile(values, search.context, () => [])].flat().map((meaning) => ({ ...meaning, exclude: filter.exclude }));
    });
  const plain = new PlainSearch(store, LIMIT + 1);
  let wrong = 0;
  const ask = ({ question: { filters, sort, descending }, lastPage }: Asked, expected: ReturnType<PlainSearch['answers']>[number] | undefined): number => {
    // The last page is the first of the opposite order, turned round; what stands before it is where its cursor points.
    const before = lastPage ? expected?.places[LIMIT] : undefined;
    const clauses = clausesOf(filters);
    const started = performance.now();
    const found = search.find({ clauses, sort, descending: lastPage ? !descending : descending, after: before ?? null, limit: LIMIT });
    const took = performance.now() - started;
    const ids = found.rows.map(({ doc }) => (JSON.parse(doc as string) as { id: string }).id);
    const wanted = (expected?.places ?? []).slice(0, LIMIT).map(({ id }) => id);
    if (found.total !== expected?.total || ids.join() !== (lastPage ? wanted.reverse() : wanted).join()) {
      wrong++;
      process.stderr.write(`not what a plain scan finds: ${JSON.stringify({ filters, sort, descending, lastPage, total: found.total, scanned: expected?.total })}\n`);
    }
    return took;
  };
  const groups: readonly (readonly [string, () => Asked])[] = [
    ['one filter', () => ({ question: question([random.pick(Object.keys(DRAWS))]), lastPage: false })],
    ['ten filters', () => ({ question: question(random.some(Object.keys(DRAWS), 10)), lastPage: false })],
    ['the last page of one filter', () => ({ question: question([random.pick(Object.keys(DRAWS))]), lastPage: true })],
    ['the last page of everybody', () => ({ question: question([]), lastPage: true })],
  ];
  const asked = groups.map(([name, draw]) => ({ name, list: Array.from({ length: Math.ceil(queries / groups.length) }, draw) }));
  const answers = plain.answers(asked.flatMap(({ list }) => list.map((one) => one.question)));
  process.stdout.write(`${plain.people.toLocaleString('en-US')} contacts; ${machine()}; any sort, pages of ${LIMIT}\n\n| | queries | found, median | p50 ms | p95 ms | longest ms |\n|---|---:|---:|---:|---:|---:|\n`);
  let at = 0;
  for (const { name, list } of asked) {
    const totals = list.map((_, index) => answers[at + index]?.total ?? 0).sort((one, other) => one - other);
    const times = list.map((one) => ask(one, answers[at++])).sort((one, other) => one - other);
    process.stdout.write(`| ${name} | ${list.length} | ${(totals[Math.floor(totals.length / 2)] ?? 0).toLocaleString('en-US')} | ${percentile(times, 0.5)} | ${percentile(times, 0.95)} | ${percentile(times, 1)} |\n`);
  }
  process.stdout.write(`\nNot what a plain scan finds: ${wrong} of ${answers.length}. Peak memory, the scan's included: ${Math.round(process.resourceUsage().maxRSS / 1_024)} MiB\n`);
  store.close();
  process.exitCode = wrong === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
