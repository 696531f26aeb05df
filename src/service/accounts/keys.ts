/** API keys in the store: digests, each bound to a plan, a region and a credit balance. A key is shown once, when it is created. */
import { hash, randomBytes } from 'node:crypto';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';

export const REGIONS = ['us', 'eu', 'apac'] as const;
export type Region = (typeof REGIONS)[number];

/** The limits of each plan: requests a minute, and calls in all. Null means no limit. */
export const PLANS = {
  trial: { rpm: 60, calls: 1_000 },
  growth: { rpm: 1_000, calls: null },
  scale: { rpm: 5_000, calls: null },
  enterprise: { rpm: null, calls: null },
} as const;
export type PlanName = keyof typeof PLANS;

/** The row of a key, without the key itself. Times are epoch milliseconds. */
export interface KeyRow {
  readonly id: string;
  readonly label: string | null;
  readonly plan: PlanName;
  readonly region: Region;
  /** Credits bought; null when not counted. */
  readonly credits: number | null;
  /** 0 when nothing is counted ({@link isCounted}). */
  readonly creditsUsed: number;
  readonly callsUsed: number;
  readonly createdMs: number;
  /** The last replacement of the secret. */
  readonly rotatedMs: number | null;
  /** The former secret is accepted until then; null without one. */
  readonly overlapUntilMs: number | null;
  readonly revokedMs: number | null;
}

export interface NewKey {
  readonly plan: PlanName;
  /** Default us. */
  readonly region?: Region;
  /** Default null, which is not counted. */
  readonly credits?: number | null;
  readonly label?: string | null;
}

/** Whether the use of a key is counted: its credits or its plan's calls are limited. */
export function isCounted({ credits, plan }: Pick<KeyRow, 'credits' | 'plan'>): boolean {
  return credits !== null || PLANS[plan].calls !== null;
}

/** The digest by which a key is stored and found. */
export function apiKeyHash(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Creates a key. Only the return value has it, so it cannot be shown again. */
export function createKey(store: Store, wanted: NewKey, nowMs: number = Date.now()): { id: string; key: string } {
  const region = wanted.region ?? 'us';
  const id = `key_${randomBytes(9).toString('base64url')}`;
  const key = newSecret(region);
  const add = store.books.prepare('INSERT INTO keys (id, hash, label, plan, region, credits, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)');
  transaction(store.books, () => add.run(id, apiKeyHash(key), wanted.label ?? null, wanted.plan, region, wanted.credits ?? null, nowMs));
  return { id, key };
}

/** All keys, revoked ones included, oldest first. */
export function listKeys(store: Store): KeyRow[] {
  return store.books.prepare('SELECT * FROM keys ORDER BY created_at, id').all().map(toRow);
}

/** Revokes a key from now on. Returns false without such a key, or when it is revoked already. */
export function revokeKey(store: Store, id: string, nowMs: number = Date.now()): boolean {
  const revoke = store.books.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  return transaction(store.books, () => revoke.run(nowMs, id).changes === 1);
}

/**
 * Replaces the secret of a key. Plan, region, balance, quota and stored answers stay. Returns null without such a key in force.
 * @param overlapMs how long the replaced secret is still accepted; an older secret ends at once
 */
export function rotateKey(
  store: Store,
  id: string,
  overlapMs = 0,
  nowMs: number = Date.now(),
): { id: string; key: string; overlapUntilMs: number | null } | null {
  return transaction(store.books, () => {
    const found = store.books.prepare('SELECT region FROM keys WHERE id = ? AND revoked_at IS NULL').get(id);
    if (found === undefined) return null;
    const key = newSecret(found['region'] as Region);
    const overlapUntilMs = overlapMs > 0 ? nowMs + overlapMs : null;
    // The right-hand sides are the values before the update.
    store.books
      .prepare('UPDATE keys SET former_hash = iif(?1 IS NULL, NULL, hash), former_until = ?1, hash = ?2, rotated_at = ?3 WHERE id = ?4')
      .run(overlapUntilMs, apiKeyHash(key), nowMs, id);
    return { id, key, overlapUntilMs };
  });
}

/** Changes of a key. */
export interface KeyChange {
  readonly plan?: PlanName;
  /** Credits to add, for a key whose credits are counted. */
  readonly addCredits?: number;
  readonly label?: string;
}

/**
 * Changes a key. Its secret and its use stay. Returns null without such a key in force, and `uncounted`, without a change, when credits are
 * added to a key whose credits are not counted.
 */
export function changeKey(store: Store, id: string, { plan, addCredits, label }: KeyChange): KeyRow | 'uncounted' | null {
  return transaction(store.books, () => {
    const found = store.books.prepare('SELECT credits FROM keys WHERE id = ? AND revoked_at IS NULL').get(id);
    if (found === undefined) return null;
    if (addCredits !== undefined && found['credits'] === null) return 'uncounted';
    const change = store.books.prepare(
      'UPDATE keys SET plan = coalesce(?, plan), credits = credits + ?, label = coalesce(?, label) WHERE id = ? RETURNING *',
    );
    return toRow(change.get(plan ?? null, addCredits ?? 0, label ?? null, id) as Record<string, unknown>);
  });
}

function newSecret(region: Region): string {
  return `mr_${region}_${randomBytes(32).toString('base64url')}`;
}

/** A key by one of its secrets. */
export interface FoundKey {
  readonly row: KeyRow;
  /** The secret is accepted until then, epoch milliseconds; null for the current secret. */
  readonly untilMs: number | null;
}

/** The key in force with a secret of this digest that is accepted at `nowMs`, epoch milliseconds. */
export function findKey(store: Store): (digest: Buffer, nowMs: number) => FoundKey | null {
  const own = store.books.prepare('SELECT * FROM keys WHERE hash = ? AND revoked_at IS NULL');
  const former = store.books.prepare('SELECT * FROM keys WHERE former_hash = ? AND former_until > ? AND revoked_at IS NULL');
  return (digest, nowMs) => {
    const row = own.get(digest) ?? former.get(digest, nowMs);
    if (row === undefined) return null;
    const key = toRow(row);
    return { row: key, untilMs: Buffer.compare(row['hash'] as Uint8Array, digest) === 0 ? null : key.overlapUntilMs };
  };
}

/** The key in force with this id. */
export function findKeyById(store: Store): (id: string) => KeyRow | null {
  const statement = store.books.prepare('SELECT * FROM keys WHERE id = ? AND revoked_at IS NULL');
  return (id) => {
    const row = statement.get(id);
    return row === undefined ? null : toRow(row);
  };
}

/** Whether a key with this digest exists and is revoked. */
export function revokedTest(store: Store): (digest: Buffer) => boolean {
  const statement = store.books.prepare('SELECT 1 FROM keys WHERE (hash = ?1 OR former_hash = ?1) AND revoked_at IS NOT NULL');
  return (digest) => statement.get(digest) !== undefined;
}

function toRow(row: Record<string, unknown>): KeyRow {
  return {
    id: row['id'] as string,
    label: row['label'] as string | null,
    plan: row['plan'] as PlanName,
    region: row['region'] as Region,
    credits: row['credits'] as number | null,
    creditsUsed: row['credits_used'] as number,
    callsUsed: row['calls_used'] as number,
    createdMs: row['created_at'] as number,
    rotatedMs: row['rotated_at'] as number | null,
    overlapUntilMs: row['former_until'] as number | null,
    revokedMs: row['revoked_at'] as number | null,
  };
}
