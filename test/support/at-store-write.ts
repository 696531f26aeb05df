/**
 * Preloaded into the real command (`node --import`): kills it right before a call that changes a store on the disk. These are SQLite's
 * commits, statements outside a transaction, and calls of node:fs. SQLite drops the rest of a transaction anyway.
 */
import { appendFileSync } from 'node:fs';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/** Which of the calls; the log of all calls; and what their descriptions hold, where only some count. */
const { STORE_WRITE: nth = '0', STORE_WRITES_LOG: log = '', STORE_WRITES_OF: only = '' } = process.env;
let left = Number(nth);

function step(what: string): void {
  if (!what.includes(only)) return;
  if (log !== '') appendFileSync(log, `${what}\n`);
  // The signal is delivered before `kill` returns, so no further call reaches the disk.
  if (left !== 0 && --left === 0) process.kill(process.pid, 'SIGKILL');
}

/** Statements that change nothing on the disk, or only with a later commit. */
const HARMLESS =
  /^\s*(?:BEGIN(?!;)|ROLLBACK|SAVEPOINT|RELEASE|SELECT|PRAGMA (?:busy_timeout|cache_size|wal_autocheckpoint|data_version|page_size)\b)/;

const nameOf = (db: DatabaseSync): string => basename(db.location() ?? 'memory');

function stepsOf(db: DatabaseSync, sql: string): void {
  const isCommit = /^\s*COMMIT/.test(sql);
  if (isCommit || (!db.isTransaction && !HARMLESS.test(sql)))
    step(
      `${nameOf(db)} ${sql
        .trim()
        .split(/[\s;]+/, 3)
        .join(' ')}`,
    );
}

type Exec = (this: DatabaseSync, sql: string) => void;
type Prepare = (this: DatabaseSync, ...given: Parameters<DatabaseSync['prepare']>) => StatementSync;
const { exec, prepare } = DatabaseSync.prototype as unknown as { readonly exec: Exec; readonly prepare: Prepare };
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
  stepsOf(this, sql);
  exec.call(this, sql);
};
const sources = new WeakMap<StatementSync, { readonly db: DatabaseSync; readonly sql: string }>();
DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql, ...rest) {
  const statement = prepare.call(this, sql, ...rest);
  sources.set(statement, { db: this, sql });
  return statement;
};
const { run } = StatementSync.prototype as unknown as { readonly run: (this: StatementSync, ...values: unknown[]) => unknown };
(StatementSync.prototype as { run: unknown }).run = function (this: StatementSync, ...values: unknown[]) {
  const source = sources.get(this);
  if (source !== undefined) stepsOf(source.db, source.sql);
  return run.apply(this, values);
};
for (const called of ['rmSync', 'renameSync', 'writeSync', 'fdatasyncSync'] as const) {
  const real = fs[called] as (...args: unknown[]) => unknown;
  (fs as unknown as Record<string, unknown>)[called] = (...args: unknown[]) => {
    step(`${called} ${typeof args[0] === 'string' ? basename(args[0]) : ''}`.trim());
    return real(...args);
  };
}
for (const called of ['rm', 'rename', 'link', 'copyFile'] as const) {
  const real = fs.promises[called] as (...args: unknown[]) => unknown;
  (fs.promises as unknown as Record<string, unknown>)[called] = (...args: unknown[]) => {
    step(`${called} ${basename(String(args[0]))}`);
    return real(...args);
  };
}
syncBuiltinESMExports();
