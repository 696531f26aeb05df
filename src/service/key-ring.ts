/** Which key a request carries, and what it has left: the store's keys as they are used, and keys of this process only. */
import { findKey, findKeyById, isCounted, keyHash, PLANS, revokedTest, type FoundKey, type KeyRow, type Region } from './keys.ts';
import type { Journal, Part, Pending } from './store/journal.ts';
import type { Store } from './store/store.ts';

/** For how long a revocation made in another process may go unseen, monotonic milliseconds. */
const KEY_CACHE_MS = 1_000;
const KEY_CACHE_SIZE = 10_000;
/** No key is longer; a longer one is not even hashed. */
const MAX_KEY_LENGTH = 256;

/** What a key has left, and what of its use is not written yet. Shared by all requests with the key. */
interface Account {
  /** null: not counted. */
  credits: number | null;
  calls: number | null;
  unwritten: Use;
}

/** Credits and calls. */
export interface Use {
  readonly credits: number;
  readonly calls: number;
}

const NOTHING: Use = { credits: 0, calls: 0 };

/** A key as a request is judged by it. */
export interface ActiveKey {
  readonly id: string;
  /** Names the quota in the headers. */
  readonly policy: string;
  /** Requests a minute; null: unlimited. */
  readonly rpm: number | null;
  readonly region: Region;
}

interface Cached {
  readonly key: ActiveKey;
  untilMs: number;
  /** When its secret ends, epoch milliseconds; null: it does not. */
  readonly endsMs: number | null;
  /** Of the store, before the key was looked for in it. */
  readonly version: unknown;
}

export class KeyRing implements Pending {
  readonly #find: (digest: Buffer, nowMs: number) => FoundKey | null;
  readonly #findById: (id: string) => KeyRow | null;
  readonly #revoked: (digest: Buffer) => boolean;
  readonly #digest;
  readonly #write: (id: string, credits: number, calls: number) => void;
  /** Changes when another process writes to the store: none but those make, revoke or change keys. */
  readonly #version: () => unknown;
  readonly #journal: Journal;
  readonly #clock: () => number;
  readonly #now: () => number;
  readonly #own = new Map<string, ActiveKey>();
  /** By the whole header, so that a key which comes again and again need not be hashed each time. */
  readonly #cache = new Map<string, Cached>();
  /** By key id; only keys that are kept books for. */
  readonly #accounts = new Map<string, Account>();
  readonly #unwritten = new Set<string>();
  /** By key id, those whose row is damaged: nothing of theirs can be written any more. */
  readonly #damaged = new Set<string>();
  /** By key id, what is set aside for work whose result is not noted yet: neither had by anybody else nor spent. Also of keys that no books are kept for, which may be others by the time that it is noted. */
  readonly #held = new Map<string, Use>();

  /** @param clock monotonic, milliseconds @param now epoch milliseconds */
  constructor(store: Store, journal: Journal, clock: () => number, now: () => number = Date.now) {
    this.#find = findKey(store);
    this.#findById = findKeyById(store);
    this.#revoked = revokedTest(store);
    this.#digest = store.prepare('SELECT hash, former_hash, former_until FROM keys WHERE id = ? AND revoked_at IS NULL');
    const charge = store.prepare('UPDATE keys SET credits_used = credits_used + ?, calls_used = calls_used + ? WHERE id = ?');
    this.#write = (id, credits, calls) => void charge.run(credits, calls, id);
    const version = store.prepare('PRAGMA data_version');
    this.#version = () => version.get()?.['data_version'];
    this.#journal = journal;
    this.#clock = clock;
    this.#now = now;
    journal.join(this, 'keys');
  }

  /** Accepts `key`, uncounted, for as long as this process lives; nothing about it is stored. */
  accept(key: string, as: ActiveKey): void {
    this.#own.set(keyHash(key).toString('latin1'), as);
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

  /** A former secret ends on time, whatever was remembered of it. */
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

  /** The digests of a key's secrets that are let in now, its own first; none: there is no such key in force. */
  digestsOf(keyId: string): readonly Uint8Array[] {
    for (const [digest, { id }] of this.#own) if (id === keyId) return [Buffer.from(digest, 'latin1')];
    const row = this.#digest.get(keyId);
    if (row === undefined) return [];
    const isOverlapping = row['former_until'] !== null && (row['former_until'] as number) > this.#now();
    return [row['hash'] as Uint8Array, ...(isOverlapping ? [row['former_hash'] as Uint8Array] : [])];
  }

  /** Whether an `Authorization` header carries a key that was good once. */
  wasRevoked(authorization: string | undefined): boolean {
    const digest = digestOf(authorization);
    return digest !== null && this.#revoked(digest);
  }

  /** Whether the key has so many calls left, where calls are counted. */
  mayCall(key: ActiveKey, calls: number): boolean {
    const account = this.#accounts.get(key.id);
    return account === undefined || account.calls === null || account.calls >= calls;
  }

  /** Whether the key has so many credits left, where they are counted. */
  affords(key: ActiveKey, credits: number): boolean {
    const account = this.#accounts.get(key.id);
    return account === undefined || account.credits === null || account.credits >= credits;
  }

  /** Books calls and credits; less than 0 gives them back. */
  book(key: ActiveKey, { calls = 0, credits = 0 }: { readonly calls?: number; readonly credits?: number }): void {
    const account = this.#accounts.get(key.id);
    if (account === undefined || (calls === 0 && credits === 0)) return;
    if (account.credits !== null) account.credits -= credits;
    if (account.calls !== null) account.calls -= calls;
    account.unwritten = { credits: account.unwritten.credits + credits, calls: account.unwritten.calls + calls };
    this.#unwritten.add(key.id);
    this.#journal.wake();
  }

  /** What the key has left; Infinity where it is not counted. */
  left(key: ActiveKey): Use {
    const account = this.#accounts.get(key.id);
    return { credits: account?.credits ?? Infinity, calls: account?.calls ?? Infinity };
  }

  /** Sets aside what work will cost, once it is there. The caller has seen that it is {@link left}. It is given back by `letGo`, or becomes spent by `writeHeld` and `wroteHeld`. */
  hold(key: ActiveKey, use: Use): void {
    this.#hold(key.id, use, 1);
  }

  letGo(key: ActiveKey, use: Use): void {
    this.#hold(key.id, use, -1);
  }

  /** Writes as spent what was set aside: within a transaction of the store, with what it was spent on. */
  writeHeld(key: ActiveKey, { credits, calls }: Use): void {
    if (this.#accounts.has(key.id)) this.#write(key.id, credits, calls);
  }

  /** To be called when that transaction was committed. */
  wroteHeld(key: ActiveKey, use: Use): void {
    this.#addHeld(key.id, use, -1);
  }

  #hold(id: string, use: Use, sign: 1 | -1): void {
    this.#addHeld(id, use, sign);
    const account = this.#accounts.get(id);
    if (account === undefined) return;
    if (account.credits !== null) account.credits -= sign * use.credits;
    if (account.calls !== null) account.calls -= sign * use.calls;
  }

  #addHeld(id: string, { credits, calls }: Use, sign: 1 | -1): void {
    const before = this.#held.get(id) ?? NOTHING;
    const now = { credits: before.credits + sign * credits, calls: before.calls + sign * calls };
    if (now.credits === 0 && now.calls === 0) this.#held.delete(id);
    else this.#held.set(id, now);
  }

  /** Whether an answer to this key has to wait until what it cost is written down. */
  owes(keyId: string): boolean {
    return this.#unwritten.has(keyId) || this.#damaged.has(keyId);
  }

  /** Whether some of it is bought: credits, or calls of a plan that has so many. The calls of another plan are merely counted. */
  owesCharge(keyId: string): boolean {
    const account = this.#accounts.get(keyId);
    if (!this.owes(keyId) || account === undefined) return false;
    return account.unwritten.credits !== 0 || (account.calls !== null && account.unwritten.calls !== 0);
  }

  /** Whether nothing of the key's use can be written any more. */
  isDamaged(keyId: string): boolean {
    return this.#damaged.has(keyId);
  }

  /** Whether the key has only so many credits or calls, so that what it gets has to be written down. */
  isCounted({ id }: ActiveKey): boolean {
    return this.#accounts.has(id);
  }

  get size(): number {
    return this.#unwritten.size;
  }

  flush(): void {
    for (const id of this.#unwritten) this.#writeUse(id);
  }

  flushed(): void {
    for (const id of this.#unwritten) this.#wrote(id);
    this.#unwritten.clear();
  }

  *parts(): Iterable<Part> {
    for (const id of this.#unwritten) {
      yield {
        charges: id,
        write: () => this.#writeUse(id),
        giveUp: () => {
          this.#damaged.add(id);
          this.#unwritten.delete(id);
        },
      };
    }
  }

  #writeUse(id: string): void {
    const used = this.#accounts.get(id)?.unwritten;
    if (used !== undefined && !this.#damaged.has(id)) this.#write(id, used.credits, used.calls);
  }

  #wrote(id: string): void {
    const account = this.#accounts.get(id);
    if (account !== undefined && !this.#damaged.has(id)) account.unwritten = NOTHING;
  }

  /** Takes over the balance as it stands in the store, less what is not written yet and what is set aside. */
  #refresh(row: KeyRow): void {
    const { calls } = PLANS[row.plan];
    if (!isCounted(row)) {
      this.#accounts.delete(row.id);
      return;
    }
    const unwritten = this.#accounts.get(row.id)?.unwritten ?? NOTHING;
    const held = this.#held.get(row.id) ?? NOTHING;
    this.#accounts.set(row.id, {
      credits: row.credits === null ? null : row.credits - row.creditsUsed - unwritten.credits - held.credits,
      calls: calls === null ? null : calls - row.callsUsed - unwritten.calls - held.calls,
      unwritten,
    });
  }
}

function digestOf(authorization: string | undefined): Buffer | null {
  if (authorization === undefined || authorization.length > MAX_KEY_LENGTH || !/^bearer /i.test(authorization)) return null;
  return keyHash(authorization.slice('bearer '.length).trim());
}
