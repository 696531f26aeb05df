/** The schema of a new store, feature by feature, and the migrations from one version to the next. */
import type { Store } from '../store.ts';
import { ACCOUNT_TABLES } from './account-tables.ts';
import { JOB_TABLES } from './job-tables.ts';
import { RECORD_TABLES } from './record-tables.ts';
import { INDEX_TABLES } from './index-tables.ts';
import { SIGNAL_TABLES } from './signal-tables.ts';
import { WEBHOOK_TABLES } from './webhook-tables.ts';

/** Version 1: the tables, indexes and triggers. Never edit it after a release: a change is a migration. */
export const SCHEMA_SQL = [RECORD_TABLES, SIGNAL_TABLES, INDEX_TABLES, ACCOUNT_TABLES, JOB_TABLES, WEBHOOK_TABLES].join('');

/** One step from the version before it. Never edit one after its release. */
export interface Migration {
  /** The version it leads to: 2, 3, and so on without a gap. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** A step that SQL alone cannot do. It runs in the same transaction, when the SQL of all migrations has run. */
  readonly run?: (store: Store) => void;
}

/** In ascending order. A new store takes them all, after version 1. */
export const MIGRATIONS: readonly Migration[] = [];
