/** API keys in use and their balances: keys of the store, and keys that only this process accepts. */
import { findKey, findKeyById, isCounted, apiKeyHash, PLANS, revokedTest, type FoundKey, type KeyRow, type Region } from './keys.ts';
import { NO_USE, type KeyWrites, type Use } from './key-writes.ts';
import type { Store } from '../store/store.ts';

/** How late a revocation by another process may take effect, milliseconds. */
const KEY_CACHE_MS = 1_000;
const KEY_CACHE_SIZE = 10_000;
/** No key is longer, so a longer header is not hashed. */
const MAX_KEY_LENGTH = 256;

/** The balance of a key, less all use. Shared by all requests with the key. */
interface Account {
  /** Null when not counted. */
  credits: number | null;
  calls: number | null;
}

/**
 * The cost of a chunk of a batch job. It is reserved before the results are written, so that no other request spends it meanwhile.
 * `write` and `written` make it spent; `release` gives it back when the chunk is not done after all.
 */
export interface Reservation {
  readonly use: Use;
  /** Within the transaction that also writes the results. */
  write(): void;
  /** After that transaction was committed. */
  written(): void;
  release(): void;
}

/** A key as requests use it. */
export interface ActiveKey {
  readonly id: string;
  /** Names the quota in the headers. */
  readonly policy: string;
  /** Requests a minute; null when unlimited. */
  readonly rpm: number | null;
  readonly region: Region;
}

interface Cached {
  readonly key: ActiveKey;
  untilMs: number;
  /** End of a former secret, epoch milliseconds; null for the current secret. */
  readonly endsMs: number | null;
  /** The version of the store from which the key was read. */
  readonly version: unknown;
}

export class KeyRing {
  readonly #find: (digest: Buffer, nowMs: number) => FoundKey | null;
  readonly #findById: (id: string) => KeyRow | null;
  readonly #revoked: (digest: Buffer) => boolean;
  readonly #digest;
  readonly #writes: KeyWrites;
  /** Changes when another process writes to the store: only other processes create, revoke or change keys. */
  readonly #version: () => unknown;
  readonly #clock: () => number;
  readonly #now: () => number;
  readonly #own = new Map<string, ActiveKey>();
  /** By the whole header, so that a repeated key is not hashed each time. */
  readonly #cache = new Map<string, Cached>();
  /** By key id; only keys with a counted balance. */
  readonly #accounts = new Map<string, Account>();
  /**
   * By key id, credits and calls reserved for work whose result is not written yet. Keys without a counted balance are included, because
   * their plan may change before the result is written.
   */
  readonly #reserved = new Map<string, Use>();

  /** @param clock monotonic, milliseconds @param now epoch milliseconds */
  constructor(store: Store, writes: KeyWrites, clock: () => number, now: () => number = Date.now) {
    this.#find = findKey(store);
    this.#findById = findKeyById(store);
    this.#revoked = revokedTest(store);
    this.#digest = store.books.prepare('SELECT hash, former_hash, former_until FROM keys WHERE id = ? AND revoked_at IS NULL');
    const version = store.books.prepare('PRAGMA data_version');
    this.#version = () => version.get()?.['data_version'];
    this.#writes = writes;
    this.#clock = clock;
    this.#now = now;
  }

  /** Accepts `key`, uncounted, for the life of this process; nothing about it is stored. */
  accept(key: string, as: ActiveKey): void {
    this.#own.set(apiKeyHash(key).toString('latin1'), as);
  }

  /** The key of an `Authorization` header, or null when it carries none that is known (RFC 6750 2.1). */
  resolve(authorization: string | undefined): ActiveKey | null {
    if (authorization === undefined) return null;
    const now = this.#clock();
    const cached = this.#cached(authorization);
    if (cached !== undefined && cached.untilMs > now) return cached.key;
    const version = this.#version();
    if (cached !== undefined && cached.version === version) {
      cached.untilMs = now + KEY_CACHE_MS;
      return cached.key;
    }
    const found = this.#look(authorization);
    if (found === null) {
      this.#cache.delete(authorization);
      return null;
    }
    if (this.#cache.size >= KEY_CACHE_SIZE) this.#cache.clear();
    this.#cache.set(authorization, { ...found, untilMs: now + KEY_CACHE_MS, version });
    return found.key;
  }

  /** A cached former secret ends on time too. */
  #cached(authorization: string): Cached | undefined {
    const cached = this.#cache.get(authorization);
    return cached === undefined || cached.endsMs === null || cached.endsMs > this.#now() ? cached : undefined;
  }

  #look(authorization: string): Pick<Cached, 'key' | 'endsMs'> | null {
    const digest = digestOf(authorization);
    if (digest === null) return null;
    const own = this.#own.get(digest.toString('latin1'));
    if (own !== undefined) return { key: own, endsMs: null };
    const found = this.#find(digest, this.#now());
    return found === null ? null : { key: this.#toActive(found.row), endsMs: found.untilMs };
  }

  #toActive(row: KeyRow): ActiveKey {
    this.#refresh(row);
    return { id: row.id, policy: row.plan, rpm: PLANS[row.plan].rpm, region: row.region };
  }

  /** A key by its id, with its balance as it is now; null when it is not in force. */
  find(id: string): ActiveKey | null {
    for (const key of this.#own.values()) if (key.id === id) return key;
    const row = this.#findById(id);
    return row === null ? null : this.#toActive(row);
  }

  /** The digests of a key's accepted secrets, the current one first; empty without such a key in force. */
  digestsOf(keyId: string): readonly Uint8Array[] {
    for (const [digest, { id }] of this.#own) if (id === keyId) return [Buffer.from(digest, 'latin1')];
    const row = this.#digest.get(keyId);
    if (row === undefined) return [];
    const isOverlapping = row['former_until'] !== null && (row['former_until'] as number) > this.#now();
    return [row['hash'] as Uint8Array, ...(isOverlapping ? [row['former_hash'] as Uint8Array] : [])];
  }

  /** Whether an `Authorization` header carries a revoked key. */
  wasRevoked(authorization: string | undefined): boolean {
    const digest = digestOf(authorization);
    return digest !== null && this.#revoked(digest);
  }

  /** Whether the balance covers `calls`; always true when calls are not counted. */
  affordsCalls(key: ActiveKey, calls: number): boolean {
    const account = this.#accounts.get(key.id);
    return account === undefined || account.calls === null || account.calls >= calls;
  }

  /** Whether the balance covers `credits`; always true when credits are not counted. */
  affordsCredits(key: ActiveKey, credits: number): boolean {
    const account = this.#accounts.get(key.id);
    return account === undefined || account.credits === null || account.credits >= credits;
  }

  /** Books calls and credits; negative numbers refund them. */
  book(key: ActiveKey, { calls = 0, credits = 0 }: { readonly calls?: number; readonly credits?: number }): void {
    const account = this.#accounts.get(key.id);
    if (account === undefined || (calls === 0 && credits === 0)) return;
    if (account.credits !== null) account.credits -= credits;
    if (account.calls !== null) account.calls -= calls;
    this.#writes.addUse(key.id, { credits, calls });
  }

  /** The balance; Infinity when not counted. */
  left(key: ActiveKey): Use {
    const account = this.#accounts.get(key.id);
    return { credits: account?.credits ?? Infinity, calls: account?.calls ?? Infinity };
  }

  /** Reserves the cost of work. The caller has checked the balance ({@link left}). */
  reserve({ id }: ActiveKey, use: Use): Reservation {
    this.#reserve(id, use, 1);
    return {
      use,
      write: () => {
        if (this.#accounts.has(id)) this.#writes.write(id, use);
      },
      written: () => this.#addReserved(id, use, -1),
      release: () => this.#reserve(id, use, -1),
    };
  }

  #reserve(id: string, use: Use, sign: 1 | -1): void {
    this.#addReserved(id, use, sign);
    const account = this.#accounts.get(id);
    if (account === undefined) return;
    if (account.credits !== null) account.credits -= sign * use.credits;
    if (account.calls !== null) account.calls -= sign * use.calls;
  }

  #addReserved(id: string, { credits, calls }: Use, sign: 1 | -1): void {
    const before = this.#reserved.get(id) ?? NO_USE;
    const now = { credits: before.credits + sign * credits, calls: before.calls + sign * calls };
    if (now.credits === 0 && now.calls === 0) this.#reserved.delete(id);
    else this.#reserved.set(id, now);
  }

  /** As `KeyWrites.has`. */
  hasUnwritten(keyId: string): boolean {
    return this.#writes.has(keyId);
  }

  /** Whether the unwritten use is paid for: credits, or calls of a plan with a limit of calls. */
  hasUnwrittenCharge(keyId: string): boolean {
    const account = this.#accounts.get(keyId);
    if (account === undefined) return false;
    const { credits, calls } = this.#writes.useOf(keyId);
    return credits !== 0 || (account.calls !== null && calls !== 0);
  }

  /** Whether the key's use cannot be written, because its row is damaged. */
  isDamaged(keyId: string): boolean {
    return this.#writes.isDamaged(keyId);
  }

  /** Whether the balance of the key is counted, so that each answer to it must be written. */
  isCounted({ id }: ActiveKey): boolean {
    return this.#accounts.has(id);
  }

  /** Reads the balance from the store, less what is unwritten or reserved. */
  #refresh(row: KeyRow): void {
    const { calls } = PLANS[row.plan];
    if (!isCounted(row)) {
      this.#accounts.delete(row.id);
      return;
    }
    const unwritten = this.#writes.useOf(row.id);
    const reserved = this.#reserved.get(row.id) ?? NO_USE;
    this.#accounts.set(row.id, {
      credits: row.credits === null ? null : row.credits - row.creditsUsed - unwritten.credits - reserved.credits,
      calls: calls === null ? null : calls - row.callsUsed - unwritten.calls - reserved.calls,
    });
  }
}

function digestOf(authorization: string | undefined): Buffer | null {
  if (authorization === undefined || authorization.length > MAX_KEY_LENGTH || !/^bearer /i.test(authorization)) return null;
  return apiKeyHash(authorization.slice('bearer '.length).trim());
}
