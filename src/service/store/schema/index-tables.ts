/** Tables of search: inverted indexes and sort columns, all derived from people, companies and signals (docs/decisions/search.md). */
export const INDEX_TABLES = `
  -- Dictionaries: the number of each term.
  CREATE TABLE person_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE company_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;

  -- Posting lists in blocks of rows. at: the term's number times 65,536, plus the block's.
  CREATE TABLE person_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
  CREATE TABLE company_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;

  -- Forward index: the terms of each person. Those of a company are in companies.terms.
  CREATE TABLE person_term_lists (person INTEGER PRIMARY KEY, terms BLOB NOT NULL) STRICT;

  -- The number of each domain, and by people.seq in chunks the number of the employer's domain.
  CREATE TABLE domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE employers (chunk INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT;

  -- Sort columns of people by people.seq, and by a domain's number the company's size and the company that it is an alias of.
  ${[
    'person_times',
    'person_ranks',
    'person_name_heads',
    'person_name_tails',
    'person_id_heads',
    'person_id_tails',
    'company_sizes',
    'alias_companies',
  ]
    .map(packedColumn)
    .join('\n  ')}
`;

/** A column of integers in chunks of 4,096 rows, each chunk packed by itself (`index/packed-chunk.ts`). */
function packedColumn(name: string): string {
  return `CREATE TABLE ${name} (
    chunk INTEGER PRIMARY KEY,
    least INTEGER NOT NULL,
    most INTEGER NOT NULL,
    unit INTEGER NOT NULL,
    codes BLOB NOT NULL
  ) STRICT;`;
}
