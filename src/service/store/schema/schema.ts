/** The schema of a new store, feature by feature, and the migrations from one version to the next. */
import type { DatabaseSync } from 'node:sqlite';
import { DIRECTORY_STATE } from './books-tables.ts';
import { divide } from './divide.ts';
import { INDEX_TABLES } from './index-tables.ts';
import { RECORD_TABLES } from './record-tables.ts';
import { SIGNAL_TABLES } from './signal-tables.ts';
import { JOB_CHANGE_TABLES } from './webhook-tables.ts';

/**
 * Version 1 without the tables of the books, which version 2 makes in a file of their own. Never edit it after a release: a change is a
 * migration.
 */
export const SCHEMA_SQL = [RECORD_TABLES, SIGNAL_TABLES, INDEX_TABLES, JOB_CHANGE_TABLES].join('');

/** One step from the version before it. Never edit one after its release. */
export interface Migration {
  /** The version it leads to: 2, 3, and so on without a gap. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /**
   * A step that SQL alone cannot do. It runs in the same transaction, when the SQL of all migrations has run.
   * @param file the store's file
   */
  readonly run?: (directory: DatabaseSync, file: string) => void;
}

/** In ascending order. A new store takes them all, after version 1. */
export const MIGRATIONS: readonly Migration[] = [{ version: 2, name: 'books in a file of their own', sql: DIRECTORY_STATE, run: divide }];
