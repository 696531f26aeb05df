/** Tables of buying signals. */
export const SIGNAL_TABLES = `
  -- One row a signal, merged from its reports. seq is its position in the event stream.
  CREATE TABLE signals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    occurred_at INTEGER NOT NULL, -- epoch ms
    company_domain TEXT NOT NULL,
    country TEXT,                 -- of the company, as companies has it
    industry TEXT,                -- of the company, as companies has it
    person_id TEXT,               -- the person it is about
    person_profile TEXT,
    observed_at INTEGER NOT NULL, -- when the newest report was made, epoch ms
    field_sources TEXT,           -- JSON: fields of another time
    doc TEXT NOT NULL             -- JSON, without addresses and numbers of people
  ) STRICT;
  CREATE INDEX signals_by_company ON signals (company_domain, occurred_at);
  CREATE INDEX signals_by_time ON signals (occurred_at, seq);
  CREATE INDEX signals_by_type ON signals (type, occurred_at, seq);
  CREATE INDEX signals_by_country ON signals (country, occurred_at, seq) WHERE country IS NOT NULL;
  CREATE INDEX signals_by_industry ON signals (industry, occurred_at, seq) WHERE industry IS NOT NULL;
  CREATE INDEX signals_by_person_id ON signals (person_id) WHERE person_id IS NOT NULL;
  CREATE INDEX signals_by_profile ON signals (person_profile) WHERE person_profile IS NOT NULL;

  -- Digests of the addresses and mobile numbers that reports of a signal name, as in suppressions. An erasure finds signals by them.
  CREATE TABLE signal_keys (
    key BLOB NOT NULL,
    signal INTEGER NOT NULL,      -- signals.seq
    PRIMARY KEY (key, signal)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX signal_keys_by_signal ON signal_keys (signal);
  CREATE TRIGGER signal_keys_go AFTER DELETE ON signals BEGIN DELETE FROM signal_keys WHERE signal = old.seq; END;
`;
