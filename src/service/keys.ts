/** API keys: made once and shown once, kept as digests, bound to a plan, a region and a credit balance. */
import { hash, randomBytes } from 'node:crypto';
import { transaction } from '../sqlite/transaction.ts';
import type { Store } from './store/store.ts';

export const REGIONS = ['us', 'eu', 'apac'] as const;
export type Region = (typeof REGIONS)[number];

/** What each plan allows. `rpm` null: unlimited; `calls` null: no limit on calls in all. */
export const PLANS = {
  trial: { rpm: 60, calls: 1_000 },
  growth: { rpm: 1_000, calls: null },
  scale: { rpm: 5_000, calls: null },
  enterprise: { rpm: null, calls: null },
} as const;
export type Plan = keyof typeof PLANS;

/** A key as the store knows it: never the key itself. Times are epoch milliseconds. */
export interface KeyRow {
  readonly id: string;
  readonly label: string | null;
  readonly plan: Plan;
  readonly region: Region;
  /** Credits bought; null: not counted. */
  readonly credits: number | null;
  /** 0 where nothing is counted ({@link isCounted}). */
  readonly creditsUsed: number;
  readonly callsUsed: number;
  readonly createdMs: number;
  /** When its secret was replaced last. */
  readonly rotatedMs: number | null;
  /** Until when its former secret is let in too; null: it has none. */
  readonly overlapUntilMs: number | null;
  readonly revokedMs: number | null;
}

export interface NewKey {
  readonly plan: Plan;
  /** Default us. */
  readonly region?: Region;
  /** Default null: not counted. */
  readonly credits?: number | null;
  readonly label?: string | null;
}

/** Whether books are kept of what a key uses: where its credits or its plan's calls are limited. */
export function isCounted({ credits, plan }: Pick<KeyRow, 'credits' | 'plan'>): boolean {
  return credits !== null || PLANS[plan].calls !== null;
}

/** The digest under which a key is kept and found. */
export function keyHash(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Makes a key. It is in the answer and nowhere else: it cannot be shown again. */
export function createKey(store: Store, wanted: NewKey, nowMs: number = Date.now()): { id: string; key: string } {
  const region = wanted.region ?? 'us';
  const id = `key_${randomBytes(9).toString('base64url')}`;
  const key = newSecret(region);
  const add = store.prepare('INSERT INTO keys (id, hash, label, plan, region, credits, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)');
  transaction(store, () => add.run(id, keyHash(key), wanted.label ?? null, wanted.plan, region, wanted.credits ?? null, nowMs));
  return { id, key };
}

/** All keys, revoked ones included, oldest first. */
export function listKeys(store: Store): KeyRow[] {
  return store.prepare('SELECT * FROM keys ORDER BY created_at, id').all().map(toRow);
}

/** Revokes a key from now on. False: there is no such key, or it was revoked before. */
export function revokeKey(store: Store, id: string, nowMs: number = Date.now()): boolean {
  const revoke = store.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  return transaction(store, () => revoke.run(nowMs, id).changes === 1);
}

/**
 * Replaces the secret of a key, which stays the key that it is: plan, region, balance, quota and answered requests go on. Null: there is none of this id in force.
 * @param overlapMs for how long the secret that is replaced is let in too; one of before that ends now
 */
export function rotateKey(store: Store, id: string, overlapMs = 0, nowMs: number = Date.now()): { id: string; key: string; overlapUntilMs: number | null } | null {
  return transaction(store, () => {
    const found = store.prepare('SELECT region FROM keys WHERE id = ? AND revoked_at IS NULL').get(id);
    if (found === undefined) return null;
    const key = newSecret(found['region'] as Region);
    const overlapUntilMs = overlapMs > 0 ? nowMs + overlapMs : null;
    // The columns on the right are those of before.
    store.prepare('UPDATE keys SET former_hash = iif(?1 IS NULL, NULL, hash), former_until = ?1, hash = ?2, rotated_at = ?3 WHERE id = ?4').run(overlapUntilMs, keyHash(key), nowMs, id);
    return { id, key, overlapUntilMs };
  });
}

/** What is to become another of a key. */
export interface KeyChange {
  readonly plan?: Plan;
  /** Credits bought beside those it has; only where credits are counted. */
  readonly addCredits?: number;
  readonly label?: string;
}

/** Changes a key; its secret, and what it has used, stay. Null: there is none of this id in force. `uncounted`: no credits can be added, for it may spend as many as it likes, and nothing was changed. */
export function changeKey(store: Store, id: string, { plan, addCredits, label }: KeyChange): KeyRow | 'uncounted' | null {
  return transaction(store, () => {
    const found = store.prepare('SELECT credits FROM keys WHERE id = ? AND revoked_at IS NULL').get(id);
    if (found === undefined) return null;
    if (addCredits !== undefined && found['credits'] === null) return 'uncounted';
    const change = store.prepare('UPDATE keys SET plan = coalesce(?, plan), credits = credits + ?, label = coalesce(?, label) WHERE id = ? RETURNING *');
    return toRow(change.get(plan ?? null, addCredits ?? 0, label ?? null, id) as Record<string, unknown>);
  });
}

function newSecret(region: Region): string {
  return `mr_${region}_${randomBytes(32).toString('base64url')}`;
}

/** A key by one of its secrets. */
export interface FoundKey {
  readonly row: KeyRow;
  /** Until when this secret is let in, epoch milliseconds; null: it is the key's own, and not a former one. */
  readonly untilMs: number | null;
}

/** The key with a secret of this digest that is let in at a time, epoch milliseconds, unless it was revoked. */
export function findKey(store: Store): (digest: Buffer, nowMs: number) => FoundKey | null {
  const own = store.prepare('SELECT * FROM keys WHERE hash = ? AND revoked_at IS NULL');
  const former = store.prepare('SELECT * FROM keys WHERE former_hash = ? AND former_until > ? AND revoked_at IS NULL');
  return (digest, nowMs) => {
    const row = own.get(digest) ?? former.get(digest, nowMs);
    if (row === undefined) return null;
    const key = toRow(row);
    return { row: key, untilMs: Buffer.compare(row['hash'] as Uint8Array, digest) === 0 ? null : key.overlapUntilMs };
  };
}

/** The same by its id. */
export function findKeyById(store: Store): (id: string) => KeyRow | null {
  const statement = store.prepare('SELECT * FROM keys WHERE id = ? AND revoked_at IS NULL');
  return (id) => {
    const row = statement.get(id);
    return row === undefined ? null : toRow(row);
  };
}

/** Whether the key with this digest is there, and revoked. */
export function revokedTest(store: Store): (digest: Buffer) => boolean {
  const statement = store.prepare('SELECT 1 FROM keys WHERE (hash = ?1 OR former_hash = ?1) AND revoked_at IS NOT NULL');
  return (digest) => statement.get(digest) !== undefined;
}

function toRow(row: Record<string, unknown>): KeyRow {
  return {
    id: row['id'] as string,
    label: row['label'] as string | null,
    plan: row['plan'] as Plan,
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
