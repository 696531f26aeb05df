/** Compares search with the records, on a sample of people: the hits of every term of a record, and the stored sort columns. */
import { BLOCK, emptyBitmap } from '../../store/index/bitmap.ts';
import { termText } from '../../store/index/term-dictionary.ts';
import { PostingReader } from '../../search/posting-reader.ts';
import { storedPerson } from '../../store/rows/person-writer.ts';
import { termsOf } from '../../store/rows/normalised-person.ts';
import type { Store } from '../../store/store.ts';
import { Names, type Finding } from './finding.ts';
import { isReadable } from './tables.ts';

/** Sample size: people spread evenly over the store. */
const SAMPLE = 500;

/** Runs in the snapshot that the caller opened. */
export function checkSearch(store: Store): Finding[] {
  const wrong = new Names();
  for (const row of sampleOf(store)) if (isReadable('people', row) && !agrees(store, row)) wrong.add(String(row['id']));
  const missing = countOf(store, 'SELECT count(*) AS n FROM people WHERE NOT EXISTS (SELECT 1 FROM person_term_lists WHERE person = seq)');
  const unfindable = countOf(
    store,
    'SELECT count(*) AS n FROM companies WHERE NOT EXISTS (SELECT 1 FROM domains WHERE domains.domain = companies.domain)',
  );
  const surplus = countOf(store, 'SELECT count(*) AS n FROM person_term_lists WHERE NOT EXISTS (SELECT 1 FROM people WHERE seq = person)');
  const count = wrong.count + missing + unfindable + surplus;
  return count === 0
    ? []
    : [
        {
          code: 'search_damaged',
          table: null,
          detail:
            `search does not agree with the records: ${missing} people and ${unfindable} companies are not found, ${surplus} who are ` +
            `found are gone, and ${wrong.count} of a sample of ${SAMPLE} people are found by other words than theirs`,
          names: wrong.names,
          count,
          remedy: 'rebuild',
        },
      ];
}

function countOf(store: Store, sql: string): number {
  return Number(store.prepare(sql).get()?.['n']);
}

function* sampleOf(store: Store): Generator<Readonly<Record<string, unknown>>> {
  const most = Number(store.prepare('SELECT max(seq) AS n FROM people').get()?.['n'] ?? 0);
  const next = store.prepare('SELECT * FROM people WHERE seq > ? ORDER BY seq LIMIT 1');
  let last = -1;
  for (let at = 0; at < SAMPLE; at++) {
    const row = next.get(Math.max(last, Math.floor((at * most) / SAMPLE)));
    if (row === undefined) return;
    last = row['seq'] as number;
    yield row;
  }
}

/** Whether a person's terms are those of the record, and each term's posting list contains the person. */
function agrees(store: Store, row: Readonly<Record<string, unknown>>): boolean {
  const reader = new PostingReader(store, 'person');
  const { company_domain: _employer, ...doc } = storedPerson(row).doc;
  const terms = [...new Set(termsOf(doc, row['observed_at'] as number).map(termText))];
  const numbers = terms.map((term) => reader.termId(term));
  const seq = row['seq'] as number;
  const storedTerms = reader.termsOf(seq);
  if (storedTerms.length !== terms.length || numbers.some((number) => number === null || !storedTerms.includes(number))) return false;
  const [block, bit] = [Math.floor(seq / BLOCK), seq % BLOCK];
  return terms.every((term) => {
    const bits = reader.list(term).rows(block, emptyBitmap(BLOCK));
    return bits !== null && ((bits[bit >>> 5] as number) & (1 << (bit & 31))) !== 0;
  });
}
