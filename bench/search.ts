/**
 * How long a search takes, over a store of generated contacts: single filters, ten random filters together, and the last page of a long cursor; and whether each found what a plain scan finds.
 * `npx node bench/search.ts [contacts] [STORE] [queries]` after `npm run build`; a STORE that is there already is used as it is, and has a key more afterwards. Ends with 1 when an answer was wrong.
 *
 * All questions are drawn first, and one scan says what each has to find. Then `millrace serve` is started on the store and asked, one search after another over one connection: first others of the same
 * kinds, which are not counted, as a service that has been up for a while was asked before; then those. A time is from the request to the last byte of the answer, at the client. Nothing else reads the store meanwhile.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seeded } from '../fixtures/generate/random.ts';
import { questionOf } from '../src/service/routes/search.ts';
import { writeCursor } from '../src/service/routes/cursor.ts';
import { createKey } from '../src/service/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import { PlainSearch, type PlainAnswer } from './support/plain-search.ts';
import { machine, startServer } from './support/processes.ts';
import { GROUPS, type Asked } from './support/search-questions.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 200_000);
const queries = Number(process.argv[4] ?? 1_000);
const LIMIT = 25;
/** Searches that are not counted. */
const WARM_UP = 200;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = process.argv[3] ?? join(folder, 'store.sqlite');

interface Prepared {
  readonly key: string;
  readonly people: number;
  readonly answers: readonly PlainAnswer[];
}

/** Lets go of the store again: nobody but the service has it open while it is asked. */
function prepare(asked: readonly Asked[]): Prepared {
  const store = openStore(path);
  try {
    const plain = new PlainSearch(store, LIMIT + 1);
    const answers = plain.answers(asked.map(({ question }) => question));
    return { key: createKey(store, { plan: 'scale', credits: 1_000_000, label: 'bench' }).key, people: plain.people, answers };
  } finally {
    store.close();
  }
}

function bodyOf({ question: { filters, sort, descending }, lastPage }: Asked, expected: PlainAnswer | undefined): string {
  // The last page is the first of the opposite order, turned round; what stands before it is where its cursor points.
  const before = lastPage ? expected?.places[LIMIT] : undefined;
  // The most relevant come first; `-` turns each order round.
  const sorting = `${(descending !== lastPage) === (sort === 'relevance') ? '' : '-'}${sort}`;
  const cursor = before === undefined ? {} : { cursor: writeCursor(questionOf(new Map(Object.entries(filters)), sorting), [before.key, before.id]) };
  return JSON.stringify({ ...filters, sort: sorting, limit: LIMIT, ...cursor });
}

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly meta: { readonly total: number };
}

async function ask(url: string, key: string, body: string): Promise<{ page: Page; ms: number }> {
  const started = performance.now();
  const response = await fetch(`${url}/v1/contacts/search`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body });
  const text = await response.text();
  const ms = performance.now() - started;
  if (response.status !== 200) throw new Error(`${response.status} ${text} to ${body}`);
  return { page: JSON.parse(text) as Page, ms };
}

function isRight(page: Page, { lastPage }: Asked, expected: PlainAnswer | undefined): boolean {
  const wanted = (expected?.places ?? []).slice(0, LIMIT).map(({ id }) => id);
  return page.meta.total === expected?.total && page.data.map(({ id }) => id).join() === (lastPage ? wanted.reverse() : wanted).join();
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
  const asked = draw(1, queries);
  const { key, people, answers } = prepare(asked.flat());
  const service = await startServer(fileURLToPath(new URL('../dist/cli/millrace.js', import.meta.url)), ['serve', '--store', path, '--port', '0', '--log-level', 'error']);
  try {
    for (const { question } of draw(2, WARM_UP).flat()) await ask(service.url, key, bodyOf({ question, lastPage: false }, undefined));
    process.stdout.write(`${people.toLocaleString('en-US')} contacts; ${machine()}; any sort, pages of ${LIMIT}\n\n| | queries | found, median | p50 ms | p95 ms | longest ms |\n|---|---:|---:|---:|---:|---:|\n`);
    let [at, wrong] = [0, 0];
    for (const [group, list] of asked.entries()) {
      const [times, totals]: [number[], number[]] = [[], []];
      for (const one of list) {
        const expected = answers[at++];
        const body = bodyOf(one, expected);
        const { page, ms } = await ask(service.url, key, body);
        times.push(ms);
        totals.push(page.meta.total);
        if (isRight(page, one, expected)) continue;
        wrong++;
        process.stderr.write(`not what a plain scan finds: ${body}: ${page.meta.total} of ${expected?.total}\n`);
      }
      for (const numbers of [times, totals]) numbers.sort((one, other) => one - other);
      process.stdout.write(`| ${GROUPS[group]?.name} | ${list.length} | ${(totals[Math.floor(totals.length / 2)] ?? 0).toLocaleString('en-US')} | ${percentile(times, 0.5)} | ${percentile(times, 0.95)} | ${percentile(times, 1)} |\n`);
    }
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
    process.stdout.write(`\nNot what a plain scan finds: ${wrong} of ${answers.length}. Peak memory of the service: ${Math.round(peak)} MiB\n`);
    process.exitCode = wrong === 0 ? 0 : 1;
  } finally {
    service.stop();
  }
} finally {
  rmSync(folder, { recursive: true });
}
