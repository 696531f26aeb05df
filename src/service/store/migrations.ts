/** The store's schema as numbered steps. A step that was released is never edited: a change is a new step. */
import { cleanAgain, codesAgain, foldAgain } from './clean-again.ts';
import { putAliases } from './domain-aliases.ts';
import { putOtherAddresses } from './other-addresses.ts';
import { putAgain } from './put-again.ts';
import { putAliasCompanies } from './put-alias-companies.ts';
import { putNameTails, putSortKeys } from './put-sort-keys.ts';
import { putShownSignals } from './shown-signals.ts';
import type { Store } from './store.ts';

/** What search looks into (docs/decisions/search.md). `at` of a posting is the term's number times 65,536 and the block; `terms` of a row are those that it has now. */
const SEARCH_TABLES = `
  CREATE TABLE person_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE person_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
  CREATE TABLE person_term_lists (person INTEGER PRIMARY KEY, terms BLOB NOT NULL) STRICT;
  CREATE TABLE company_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE company_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
  CREATE TABLE domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE employers (chunk INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT;
`;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** What SQL alone cannot do; run when the tables of all steps are there. */
  readonly run?: (store: Store) => void;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'companies, people, suppressions, keys, idempotency',
    // `doc` holds the record as JSON without what is null; what is looked up by stands beside it in columns.
    // A suppressed person is known by the digest of the address alone: erasure leaves nothing else behind.
    sql: `
      CREATE TABLE companies (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        domain TEXT NOT NULL UNIQUE,
        accepts_all INTEGER,
        email_pattern TEXT,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE TABLE people (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        email TEXT UNIQUE,
        company_domain TEXT,
        email_status TEXT,
        email_verified_at INTEGER,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE INDEX people_by_company ON people (company_domain);
      CREATE TABLE suppressions (
        email_sha256 BLOB PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        label TEXT,
        plan TEXT NOT NULL,
        region TEXT NOT NULL,
        credits INTEGER,
        credits_used INTEGER NOT NULL DEFAULT 0,
        calls_used INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        revoked_at INTEGER
      ) STRICT;
      CREATE TABLE idempotency (
        scope BLOB PRIMARY KEY,
        request BLOB NOT NULL,
        status INTEGER NOT NULL,
        kind TEXT NOT NULL,
        payload BLOB NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotency_by_age ON idempotency (at);
    `,
  },
  {
    version: 2,
    name: 'records merged from many sources, more ways to look people up, signals, search',
    // `observed_at` is of when the newest of a record is, `field_sources` what in it is of another source or time than the record as such.
    sql: `
      DROP INDEX people_by_company;
      ALTER TABLE people RENAME TO people_v1;
      ALTER TABLE companies RENAME TO companies_v1;
      CREATE TABLE sources (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
      ) STRICT;
      CREATE TABLE companies (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        domain TEXT NOT NULL UNIQUE,
        accepts_all INTEGER,
        email_pattern TEXT,
        employees INTEGER,
        country TEXT,
        industry TEXT,
        terms BLOB,
        doc TEXT NOT NULL,
        source INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        field_sources TEXT
      ) STRICT;
      CREATE TABLE people (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        email TEXT UNIQUE,
        profile TEXT,
        mobile TEXT,
        name_key TEXT NOT NULL,
        company_domain TEXT,
        email_status TEXT,
        email_verified_at INTEGER,
        headcount INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        doc TEXT NOT NULL,
        source INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        field_sources TEXT
      ) STRICT;
      CREATE INDEX people_by_company ON people (company_domain) WHERE company_domain IS NOT NULL;
      CREATE INDEX people_by_profile ON people (profile) WHERE profile IS NOT NULL;
      CREATE INDEX people_by_mobile ON people (mobile) WHERE mobile IS NOT NULL;
      CREATE INDEX people_by_name ON people (name_key, id);
      CREATE INDEX people_by_time ON people (observed_at, id);
      CREATE INDEX people_by_headcount ON people (headcount, id);
      CREATE INDEX people_by_rank ON people (rank, id);
      CREATE TABLE other_addresses (
        email TEXT PRIMARY KEY,
        person INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_addresses_by_person ON other_addresses (person);
      CREATE TABLE signals (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        occurred_at INTEGER NOT NULL,
        company_domain TEXT NOT NULL,
        country TEXT,
        industry TEXT,
        person_email TEXT,
        person_profile TEXT,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE INDEX signals_by_company ON signals (company_domain, occurred_at);
      CREATE INDEX signals_by_time ON signals (occurred_at, seq);
      CREATE INDEX signals_by_type ON signals (type, occurred_at, seq);
      CREATE INDEX signals_by_country ON signals (country, occurred_at, seq) WHERE country IS NOT NULL;
      CREATE INDEX signals_by_industry ON signals (industry, occurred_at, seq) WHERE industry IS NOT NULL;
      CREATE INDEX signals_by_person ON signals (person_email) WHERE person_email IS NOT NULL;
      CREATE INDEX signals_by_profile ON signals (person_profile) WHERE person_profile IS NOT NULL;
      ${SEARCH_TABLES}
    `,
    run: putAgain,
  },
  {
    version: 3,
    name: 'what became of mails',
    // Of each address the newest of its kind, epoch milliseconds: however long a log is, it adds a row an address.
    sql: `
      CREATE TABLE deliveries (
        email TEXT PRIMARY KEY,
        delivered_at INTEGER,
        bounced_at INTEGER
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 4,
    name: 'buckets of keys, verifications that come later',
    // `tokens` is what a key's bucket has at the least at `tokens_at`, epoch milliseconds; null: it was never used.
    sql: `
      ALTER TABLE keys ADD COLUMN tokens REAL;
      ALTER TABLE keys ADD COLUMN tokens_at INTEGER;
      ALTER TABLE keys ADD COLUMN rotated_at INTEGER;
      CREATE TABLE verifications (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        request BLOB NOT NULL,
        results BLOB,
        done INTEGER NOT NULL DEFAULT 0,
        paid INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX verifications_by_age ON verifications (started_at);
    `,
  },
  {
    version: 5,
    name: 'other domains of companies',
    // Several companies may claim one.
    sql: `
      CREATE TABLE domain_aliases (
        alias TEXT NOT NULL,
        domain TEXT NOT NULL,
        PRIMARY KEY (alias, domain)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX domain_aliases_by_company ON domain_aliases (domain);
    `,
    run: putAliases,
  },
  {
    version: 6,
    name: 'other addresses that several people have',
    sql: `
      DROP TABLE other_addresses;
      CREATE TABLE other_addresses (
        email TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (email, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_addresses_by_person ON other_addresses (person);
    `,
    run: putOtherAddresses,
  },
  {
    version: 7,
    name: 'signals by the id of whom they are about',
    sql: `
      ALTER TABLE signals ADD COLUMN person_id TEXT;
      UPDATE signals SET person_id = doc ->> '$.person.id' WHERE doc ->> '$.person.id' IS NOT NULL;
      CREATE INDEX signals_by_person_id ON signals (person_id) WHERE person_id IS NOT NULL;
    `,
  },
  {
    version: 8,
    name: 'suppressions by time',
    sql: 'CREATE INDEX suppressions_by_time ON suppressions (at)',
  },
  {
    version: 9,
    name: 'what people are sorted by, in columns',
    // Of 4,096 rows a chunk (docs/decisions/search.md). `people.headcount` is not filled any more: taking a column away would write every row again.
    sql: `
      DROP INDEX people_by_time;
      DROP INDEX people_by_headcount;
      DROP INDEX people_by_rank;
      ${['person_times', 'person_ranks', 'person_names', 'person_id_heads', 'person_id_tails', 'company_sizes'].map((name) => `
      CREATE TABLE ${name} (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;`).join('')}
    `,
    run: putSortKeys,
  },
  {
    version: 10,
    name: 'signals with the company that shows them, and which fields a record lacks',
    // `lacks` (kept-text.ts) is null where a text has to be looked through, as those of before.
    sql: `
      ALTER TABLE companies ADD COLUMN shown_signals TEXT;
      ALTER TABLE companies ADD COLUMN lacks INTEGER;
      ALTER TABLE people ADD COLUMN lacks INTEGER;
    `,
    run: putShownSignals,
  },
  {
    version: 11,
    name: 'records as they are cleaned today, with null for the absent parts of objects; other numbers of people',
    sql: `
      CREATE TABLE other_numbers (
        number TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (number, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_numbers_by_person ON other_numbers (person);
    `,
    run: cleanAgain,
  },
  {
    version: 12,
    name: 'more of the names that people are sorted by',
    sql: `
      ALTER TABLE person_names RENAME TO person_name_heads;
      CREATE TABLE person_name_tails (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;
    `,
    run: putNameTails,
  },
  {
    version: 13,
    name: 'names and words of all scripts as they are compared today',
    sql: '',
    run: foldAgain,
  },
  {
    version: 14,
    name: 'search knows other domains of companies',
    // By the number of such a domain that of the company, as the columns of what is sorted by are.
    sql: `
      CREATE TABLE alias_companies (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;
    `,
    run: putAliasCompanies,
  },
  {
    version: 15,
    name: 'signals merged from many reports',
    // `observed_at` (epoch milliseconds) is of the newest report, `field_sources` what is of another; null for those of before, of which the text says when they were noticed.
    sql: `
      ALTER TABLE signals ADD COLUMN observed_at INTEGER;
      ALTER TABLE signals ADD COLUMN field_sources TEXT;
    `,
  },
  {
    version: 16,
    name: 'codes of industries by up to eight digits',
    sql: '',
    run: codesAgain,
  },
  {
    version: 17,
    name: 'former profiles and other ids of people',
    // `profile:` or `id:` and the key. Of people of before it is not known.
    sql: `
      CREATE TABLE other_keys (
        key TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (key, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_keys_by_person ON other_keys (person);
    `,
  },
  {
    version: 18,
    name: 'batch jobs',
    // The lines themselves and their results are files beside the store: of each the table has the name, and how many of its bytes count. One process works on all jobs: whoever has the lease.
    sql: `
      CREATE TABLE batches (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        request TEXT NOT NULL,
        times TEXT NOT NULL,
        header TEXT,
        total INTEGER NOT NULL DEFAULT 0,
        succeeded INTEGER NOT NULL DEFAULT 0,
        not_found INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        credits INTEGER NOT NULL DEFAULT 0,
        part INTEGER NOT NULL DEFAULT 0,
        part_offset INTEGER NOT NULL DEFAULT 0,
        line INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        ended_at INTEGER,
        looked_at INTEGER
      ) STRICT;
      CREATE INDEX batches_by_state ON batches (state);
      CREATE INDEX batches_by_key ON batches (key_id, seq);
      CREATE INDEX batches_by_end ON batches (ended_at) WHERE ended_at IS NOT NULL;
      CREATE TABLE batch_files (
        batch INTEGER NOT NULL,
        kind TEXT NOT NULL,
        n INTEGER NOT NULL,
        file TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (batch, kind, n)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE batch_lease (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        owner TEXT NOT NULL,
        until INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 19,
    name: 'webhooks, what is to be delivered to them, and changes of jobs that are to be told',
    // Times are epoch milliseconds. `next_at` of a delivery: when it is tried, or taken over from a process that has not come to an end with it; null: it is settled.
    // Its `channel` is the webhook, or the key where it goes to a `url` that came with a request. Signals and changes up to `signals_seq` and `changes_seq` have been looked at for a webhook.
    sql: `
      CREATE TABLE webhooks (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        url TEXT NOT NULL,
        events TEXT NOT NULL,
        filter TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        disabled_reason TEXT,
        secret BLOB NOT NULL,
        former_secret BLOB,
        former_until INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        signals_seq INTEGER NOT NULL,
        changes_seq INTEGER NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX webhooks_by_key ON webhooks (key_id);
      CREATE TABLE webhook_deliveries (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        url TEXT,
        host TEXT NOT NULL,
        type TEXT NOT NULL,
        body BLOB NOT NULL,
        signal TEXT,
        person TEXT,
        created_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_at INTEGER,
        last_at INTEGER,
        last_status INTEGER,
        last_error TEXT
      ) STRICT;
      CREATE INDEX webhook_deliveries_by_channel ON webhook_deliveries (channel);
      CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
      CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE next_at IS NOT NULL;
      CREATE INDEX webhook_deliveries_due_by_host ON webhook_deliveries (host, next_at) WHERE next_at IS NOT NULL;
      CREATE TABLE job_changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        person TEXT NOT NULL,
        doc TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX job_changes_by_person ON job_changes (person);
    `,
  },
  {
    version: 20,
    name: 'sums of the files of batch jobs',
    // What a job was sent stays with the job, so that a part of which the file is gone needs no row; `batch_bytes` is what a key's jobs have on the disk.
    sql: `
      ALTER TABLE batches ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE batches ADD COLUMN part_bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE batches SET (parts, part_bytes) = (SELECT count(*), coalesce(sum(bytes), 0) FROM batch_files WHERE batch = seq AND kind <> 'results');
      DELETE FROM batch_files WHERE kind = 'sent';
      CREATE TABLE batch_bytes (
        key_id TEXT PRIMARY KEY,
        bytes INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO batch_bytes (key_id, bytes) SELECT key_id, sum(bytes) FROM batch_files JOIN batches ON seq = batch GROUP BY key_id;
    `,
  },
  {
    version: 21,
    name: 'deliveries that are due by key and host',
    sql: `
      DROP INDEX webhook_deliveries_due_by_host;
      CREATE INDEX webhook_deliveries_due_by_lane ON webhook_deliveries (key_id, host, next_at) WHERE next_at IS NOT NULL;
    `,
  },
];
