/**
 * The latency of searches over a store of generated contacts: single filters, ten random filters together, and the last page of a long
 * cursor. Each result is compared with that of a plain scan; a wrong one ends the bench with 1.
 * `npx node bench/search.ts [contacts] [STORE] [queries] [checked]` after `npm run build`. An existing STORE is used as it is, and gets a
 * key. `checked`: the number of queries that are compared (default: all); the scan takes most of a minute for each in ten million contacts.
 *
 * All queries are drawn first, and one scan finds their expected results. The service is asked first where each last page begins.
 * Then `millrace serve` starts on the store and gets one search after another over one connection. Searches of the same kinds warm it up
 * and are not counted. A time is from the request to the last byte of the answer, at the client. Nothing else reads the store meanwhile.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seeded } from '../fixtures/generate/random.ts';
import { questionOf } from '../src/service/search/contact-page.ts';
import { readCursor, writeCursor } from '../src/service/http/cursor.ts';
import { createKey } from '../src/service/accounts/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import { PlainSearch, type Place, type PlainAnswer } from './support/plain-search.ts';
import { machine, startServer } from './support/processes.ts';
import { GROUPS, type Asked } from './support/search-questions.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const queries = Number(process.argv[4] ?? 1_000);
const checked = Number(process.argv[5] ?? queries);
const LIMIT = 25;
/** Searches before the measurement. */
const WARM_UP = 200;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = process.argv[3] ?? join(folder, 'store.sqlite');

/** A search and the result of the scan. Null when the scan was not run. */
interface Query extends Asked {
  readonly expected: PlainAnswer | null;
}

interface Prepared {
  readonly key: string;
  readonly people: number;
  /** By kind. */
  readonly queries: readonly (readonly Query[])[];
}

/** Closes the store again, so that only the service has it open during the measurement. */
function prepare(asked: readonly (readonly Asked[])[]): Prepared {
  const store = openStore(path);
  try {
    const plain = new PlainSearch(store, LIMIT + 1);
    const held = asked.map((list) => list.slice(0, Math.ceil(checked / asked.length)));
    const answers = new Map<Asked, PlainAnswer | undefined>();
    // A needless scan would evict everything else from the system's memory.
    if (checked > 0)
      for (const [at, answer] of plain.answers(held.flat().map(({ question }) => question)).entries())
        answers.set(held.flat()[at] as Asked, answer);
    const queriesOf = (list: readonly Asked[]): Query[] => list.map((one) => ({ ...one, expected: answers.get(one) ?? null }));
    return {
      key: createKey(store, { plan: 'scale', credits: 1_000_000, label: 'bench' }).key,
      people: Number(store.prepare('SELECT count(*) AS n FROM people').get()?.['n']),
      queries: asked.map(queriesOf),
    };
  } finally {
    store.close();
  }
}

/** The most relevant come first; `-` reverses an order. */
function sortingOf({ question: { sort, descending }, lastPage }: Asked): string {
  return `${(descending !== lastPage) === (sort === 'relevance') ? '' : '-'}${sort}`;
}

/** @param before the candidate after which the page begins; null for the first page */
function bodyOf(asked: Asked, before: Place | null): string {
  const { filters } = asked.question;
  const sort = sortingOf(asked);
  const cursor =
    before === null ? {} : { cursor: writeCursor(questionOf(new Map(Object.entries(filters)), sort), [before.key, before.id]) };
  return JSON.stringify({ ...filters, sort, limit: LIMIT, ...cursor });
}

/** The candidate after which the last page begins. It is the first page of the reversed order, reversed. */
async function beforeLastPage(url: string, key: string, { expected, question }: Query): Promise<Place | null> {
  if (expected !== null) return expected.places[LIMIT] ?? null;
  const turned = { question, lastPage: false };
  const { page } = await ask(url, key, JSON.stringify({ ...question.filters, sort: sortingOf(turned), limit: LIMIT + 1 }));
  if (page.meta.next_cursor === null) return null;
  const [at, id] = readCursor(page.meta.next_cursor, questionOf(new Map(Object.entries(question.filters)), sortingOf(turned))) as [
    string | number,
    string,
  ];
  return { key: at, id };
}

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly meta: { readonly total: number; readonly next_cursor: string | null };
}

async function ask(url: string, key: string, body: string): Promise<{ page: Page; ms: number }> {
  const started = performance.now();
  const response = await fetch(`${url}/v1/contacts/search`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  const text = await response.text();
  const ms = performance.now() - started;
  if (response.status !== 200) throw new Error(`${response.status} ${text} to ${body}`);
  return { page: JSON.parse(text) as Page, ms };
}

function isRight(page: Page, { lastPage, expected }: Query): boolean {
  if (expected === null) return true;
  const wanted = expected.places.slice(0, LIMIT).map(({ id }) => id);
  return page.meta.total === expected.total && page.data.map(({ id }) => id).join() === (lastPage ? wanted.reverse() : wanted).join();
}

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}

function draw(seed: number, count: number): Asked[][] {
  const random = seeded(seed);
  return GROUPS.map((group) => Array.from({ length: Math.ceil(count / GROUPS.length) }, () => group.draw(random)));
}

try {
  await generatedStore(path, contacts);
  const { key, people, queries: asked } = prepare(draw(1, queries));
  const service = await startServer(fileURLToPath(new URL('../dist/cli/millrace.js', import.meta.url)), [
    'serve',
    '--store',
    path,
    '--port',
    '0',
    '--log-level',
    'error',
  ]);
  try {
    const bodies = new Map<Query, string>();
    for (const one of asked.flat()) bodies.set(one, bodyOf(one, one.lastPage ? await beforeLastPage(service.url, key, one) : null));
    for (const { question } of draw(2, WARM_UP).flat()) await ask(service.url, key, bodyOf({ question, lastPage: false }, null));
    process.stdout.write(
      `${people.toLocaleString('en-US')} contacts; ${machine()}; any ` +
        `sort, pages of ${LIMIT}\n\n| | queries | found, median | p50 ` +
        'ms | p95 ms | longest ms |\n|---|---:|---:|---:|---:|---:|\n',
    );
    let wrong = 0;
    for (const [group, list] of asked.entries()) {
      const [times, totals]: [number[], number[]] = [[], []];
      for (const one of list) {
        const body = bodies.get(one) ?? '';
        const { page, ms } = await ask(service.url, key, body);
        times.push(ms);
        totals.push(page.meta.total);
        if (isRight(page, one)) continue;
        wrong++;
        process.stderr.write(`not what a plain scan finds: ${body}: ${page.meta.total} of ${one.expected?.total}\n`);
      }
      for (const numbers of [times, totals]) numbers.sort((one, other) => one - other);
      process.stdout.write(
        `| ${GROUPS[group]?.name} | ${list.length} | ${(totals[Math.floor(totals.length / 2)] ?? 0).toLocaleString('en-US')} | ` +
          `${percentile(times, 0.5)} | ${percentile(times, 0.95)} | ${percentile(times, 1)} |\n`,
      );
    }
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
    process.stdout.write(
      `\nNot what a plain scan finds: ${wrong} of ${asked.flat().filter(({ expected }) => expected !== null).length}` +
        `. Peak memory of the service: ${Math.round(peak)} MiB\n`,
    );
    process.exitCode = wrong === 0 ? 0 : 1;
  } finally {
    service.stop();
  }
} finally {
  rmSync(folder, { recursive: true });
}
