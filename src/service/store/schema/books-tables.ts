/** The tables of the books: what requests and operators change. People, companies, signals and search are in the directory. */
import { ACCOUNT_TABLES } from './account-tables.ts';
import { JOB_TABLES } from './job-tables.ts';
import { SUPPRESSION_TABLES } from './record-tables.ts';
import { WEBHOOK_TABLES } from './webhook-tables.ts';

/** The tables that version 1 had in the directory. */
export const BOOKS_TABLES = [SUPPRESSION_TABLES, ACCOUNT_TABLES, JOB_TABLES, WEBHOOK_TABLES].join('');

export const BOOKS_STATE = `
  -- The state of the books as a whole.
  CREATE TABLE books_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL,             -- random: which directory belongs to them
    erasures INTEGER NOT NULL,    -- counts the erasures
    open_since INTEGER            -- when the first of those began that are not done, epoch ms
  ) STRICT;
`;

export const DIRECTORY_STATE = `
  -- Which books belong to the directory, and which erasures it has done.
  CREATE TABLE directory_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    books BLOB NOT NULL,          -- books_state.id
    erasures INTEGER NOT NULL     -- the books_state.erasures of the last one done here
  ) STRICT;
`;
