/** Tables of people, companies, their keys and mail events; and of erasures, which are in the books. */
export const RECORD_TABLES = `
  -- The files and programs that records came from.
  CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  -- One row a person.
  CREATE TABLE people (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT UNIQUE,            -- the main address, normalised
    profile TEXT,                 -- the key of the profile's URL
    mobile TEXT,                  -- E.164
    name_key TEXT NOT NULL,       -- the name, normalised
    company_domain TEXT,          -- the employer; it need not be in companies
    email_status TEXT,
    email_verified_at INTEGER,    -- epoch ms
    rank INTEGER NOT NULL,        -- the sort key "relevance"
    absent_fields INTEGER,        -- one bit a field that doc lacks (records/stored-text.ts); null: doc cannot be answered as it is
    source INTEGER NOT NULL,      -- sources.id of the newest report
    observed_at INTEGER NOT NULL, -- when the newest report was made, epoch ms
    field_sources TEXT,           -- JSON: fields of another source or time, and what is merged but never answered
    doc TEXT NOT NULL             -- JSON: the fields that are known
  ) STRICT;
  CREATE INDEX people_by_company ON people (company_domain) WHERE company_domain IS NOT NULL;
  CREATE INDEX people_by_profile ON people (profile) WHERE profile IS NOT NULL;
  CREATE INDEX people_by_mobile ON people (mobile) WHERE mobile IS NOT NULL;
  CREATE INDEX people_by_name ON people (name_key, id);

  -- Addresses of a person beside the main one. Several people may share one.
  CREATE TABLE other_addresses (
    email TEXT NOT NULL,
    person INTEGER NOT NULL,      -- people.seq
    PRIMARY KEY (email, person)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX other_addresses_by_person ON other_addresses (person);

  -- Telephone numbers of a person beside the mobile one.
  CREATE TABLE other_numbers (
    number TEXT NOT NULL,         -- E.164
    person INTEGER NOT NULL,      -- people.seq
    PRIMARY KEY (number, person)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX other_numbers_by_person ON other_numbers (person);

  -- Former profiles and further ids of a person.
  CREATE TABLE other_keys (
    key TEXT NOT NULL,            -- "profile:" or "id:", and the key
    person INTEGER NOT NULL,      -- people.seq
    PRIMARY KEY (key, person)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX other_keys_by_person ON other_keys (person);

  -- One row a company.
  CREATE TABLE companies (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    domain TEXT NOT NULL UNIQUE,
    accepts_all INTEGER,          -- 0 or 1: whether its mail server takes mail for anybody
    email_pattern TEXT,
    employees INTEGER,
    country TEXT,                 -- ISO 3166-1 alpha-2
    industry TEXT,                -- as values are compared
    absent_fields INTEGER NOT NULL,
    source INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    field_sources TEXT,
    terms BLOB,                   -- its terms in company_terms, packed
    doc TEXT NOT NULL,            -- JSON: the fields that are known
    shown_signals TEXT            -- JSON: the newest signals, as its record shows them
  ) STRICT;

  -- Further domains of companies. Several companies may claim one.
  CREATE TABLE domain_aliases (
    alias TEXT NOT NULL,
    domain TEXT NOT NULL,         -- companies.domain
    PRIMARY KEY (alias, domain)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX domain_aliases_by_company ON domain_aliases (domain);

  -- The newest delivery and the newest bounce of each address, epoch ms.
  CREATE TABLE deliveries (
    email TEXT PRIMARY KEY,
    delivered_at INTEGER,
    bounced_at INTEGER
  ) STRICT, WITHOUT ROWID;
`;

export const SUPPRESSION_TABLES = `
  -- Erased people: nothing but digests of their addresses, profiles, ids with names, and mobile numbers.
  CREATE TABLE suppressions (
    email_sha256 BLOB PRIMARY KEY,
    at INTEGER NOT NULL           -- of the erasure, epoch ms
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX suppressions_by_time ON suppressions (at);
`;
