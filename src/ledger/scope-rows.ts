import type { DatabaseSync } from 'node:sqlite';
import type { SharedAnswer } from './options.ts';

/** The number of (origin, step, options) in a ledger file; -1 when it has none. */
export function scopeNumber(db: DatabaseSync, origin: string, step: string, options: string): number {
  return Number(db.prepare('SELECT id FROM scopes WHERE origin = ? AND step = ? AND options = ?').get(origin, step, options)?.['id'] ?? -1);
}

/** Whether a run has asked this origin with the ledger file. */
export function hasScopesOf(db: DatabaseSync, origin: string): boolean {
  const found = db.prepare('SELECT EXISTS (SELECT 1 FROM scopes WHERE origin = ?) AS found').get(origin);
  return found?.['found'] === 1;
}

/** The same, created if missing. Call it within a transaction. */
export function makeScope(db: DatabaseSync, origin: string, step: string, options: string): number {
  db.prepare('INSERT OR IGNORE INTO scopes (origin, step, options) VALUES (?, ?, ?)').run(origin, step, options);
  return scopeNumber(db, origin, step, options);
}

/** The same, cached. */
export class ScopeRows {
  readonly #db: DatabaseSync;
  readonly #known = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  idOf([origin, step, options]: SharedAnswer['scope']): number {
    const name = JSON.stringify([origin, step, options]);
    const scope = this.#known.get(name) ?? makeScope(this.#db, origin, step, options);
    this.#known.set(name, scope);
    return scope;
  }
}
