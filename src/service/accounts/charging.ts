/**
 * Charging: the credits, trial calls and quota that a request costs. Every charge and refund of a request is made here.
 *
 * A charge is `open`, `booked`, `committed` or `refunded`:
 *
 * ## open
 * Enter: each request begins so. `identify` names the API key, `takeToken` takes one request of its quota.
 * Leave: `bookCalls` or `bookCredits` makes it booked. `refund` makes it refunded, and `commit` committed.
 *
 * ## booked
 * Enter: calls or credits are taken from the balance of the key, in memory (`KeyRing.book`). The journal writes them with its next flush.
 * Leave: `commit` when the answer is about to be sent. `refuse` when the request ends without an answer that settles it.
 *
 * ## committed
 * Enter: the journal has written everything that the answer depends on, or there was nothing to write. The answer is sent.
 * Leave: never. A connection that breaks from here on gives nothing back: the client may have the answer.
 *
 * ## refunded
 * Enter: `refuse` with a status that settles nothing (402, 408, 409, 425, 429, 500 and above), or a stored answer that the journal lost.
 * Calls and credits return to the balance, and all that came with them is undone. After 429 and 503 the quota returns too.
 * Leave: never. `commit` then waits for what the refund itself has to write.
 *
 * Lines of a batch job do not come as requests: `KeyRing.reserve` charges them.
 */
import { ERRORS, settlesRequest, ServiceError } from '../http/problem.ts';
import type { Journal } from '../store/journal.ts';
import type { ActiveKey, KeyRing } from './key-ring.ts';
import type { DurableQuota } from './durable-quota.ts';
import type { QuotaDecision } from './token-bucket.ts';
import { storeDamaged, storeUnwritable } from './store-refusals.ts';

type ChargeState = 'open' | 'booked' | 'committed' | 'refunded';

/** Where balances, quotas and writes are. One for all charges. */
export interface Books {
  readonly keys: Pick<KeyRing, 'affordsCalls' | 'affordsCredits' | 'book' | 'isCounted' | 'hasUnwritten' | 'hasUnwrittenCharge'>;
  readonly quota: Pick<DurableQuota, 'take' | 'owe' | 'giveBack' | 'peek'>;
  readonly journal: Pick<Journal, 'written' | 'failure' | 'isDiskUnusable'>;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
}

/** The answer that an `Idempotency-Key` stores or repeats, as far as `commit` depends on it. */
interface StoredAnswer {
  /** Whether stored answers wait to be written. */
  isPending(): boolean;
  /** Whether damage in the store kept this one from being written. To be asked once. */
  isLost(): boolean;
}

/** The charge of one request. */
export class Charge {
  readonly #books: Books;
  #state: ChargeState = 'open';
  #key: ActiveKey | null = null;
  #quota: QuotaDecision | null = null;
  #tokens = 0;
  #calls = 0;
  #credits = 0;
  #undo: (() => void)[] | null = null;
  #mustCommit = false;
  #stored: StoredAnswer | null = null;
  #isReplay = false;

  constructor(books: Books) {
    this.#books = books;
  }

  get state(): ChargeState {
    return this.#state;
  }

  /** The API key of the request, or null without a known one. */
  get key(): ActiveKey | null {
    return this.#key;
  }

  /** The key of a request that was admitted: every route but the open ones has it. */
  get account(): ActiveKey {
    return this.#key as ActiveKey;
  }

  get keyId(): string {
    return this.account.id;
  }

  /** The quota as the response headers state it; null without a key, or for a key without a limit. */
  get quota(): QuotaDecision | null {
    return this.#quota;
  }

  get credits(): number {
    return this.#credits;
  }

  /** The answer repeats an earlier one, and is free. */
  get isReplay(): boolean {
    return this.#isReplay;
  }

  identify(key: ActiveKey): void {
    this.#key = key;
  }

  /** Reads the quota for the headers of a request that takes none of it. */
  peekQuota(): void {
    const { id, rpm } = this.account;
    if (rpm !== null) this.#quota = this.#books.quota.peek(id, rpm, this.#books.clock());
  }

  /** Takes one request of the quota. @throws ServiceError `rate_limited` */
  takeToken(): void {
    const { rpm } = this.account;
    if (rpm === null) return;
    const { allowed, retryAfterS } = this.#take(rpm, 1);
    if (!allowed)
      throw new ServiceError('rate_limited', `the quota of ${rpm} requests a minute is used up`, {
        headers: { 'retry-after': String(retryAfterS) },
      });
  }

  /** Refuses work for which the balance is too low. @throws ServiceError `insufficient_credits` */
  requireCredits(credits: number): void {
    if (!this.#books.keys.affordsCredits(this.account, credits)) throw spent();
  }

  /** Refuses paid work while no charge can be written, before mail servers are asked for it. @throws ServiceError */
  requireWritable(): void {
    const { journal, keys } = this.#books;
    if (journal.isDiskUnusable && keys.isCounted(this.account)) throw storeUnwritable(journal.failure, 'charged');
  }

  /** Books calls of a trial. @throws ServiceError `insufficient_credits` when fewer are left */
  bookCalls(calls = 1): void {
    const { keys } = this.#books;
    if (!keys.affordsCalls(this.account, calls)) throw spent();
    keys.book(this.account, { calls });
    this.#calls += calls;
    this.#state = 'booked';
  }

  /** Books what an answer costs. @throws ServiceError `insufficient_credits` when fewer are left */
  bookCredits(credits: number): void {
    this.requireCredits(credits);
    this.#books.keys.book(this.account, { credits });
    this.#credits += credits;
    this.#state = 'booked';
  }

  /**
   * Books a request that does the work of `count` requests: as many calls, and as many requests of the quota. The first of each is booked
   * already.
   * @param what they are, for the message @param pointer where they are in the body
   * @throws ServiceError when the trial has fewer calls left, the quota has fewer requests left, or can never hold as many
   */
  bookBulk(count: number, what: string, pointer: string): void {
    const { rpm } = this.account;
    const more = count - 1;
    if (more <= 0) return;
    if (rpm !== null && more >= rpm) {
      const detail = `${count} ${what} are more than this key's quota of ${rpm} requests a minute will ever hold; send fewer at once`;
      throw new ServiceError('validation_failed', detail, { errors: [{ pointer, code: 'too_many', detail }] });
    }
    this.bookCalls(more);
    if (rpm === null) return;
    const { allowed, remaining, retryAfterS } = this.#take(rpm, more);
    if (!allowed)
      throw new ServiceError('rate_limited', `${count} ${what} need as many requests of the quota, and ${remaining + 1} were left`, {
        headers: { 'retry-after': String(retryAfterS) },
      });
  }

  /** Takes requests of the quota for work that is done. It may sink below zero; then the next requests are refused until it is filled. */
  oweRequests(count: number): void {
    const { id, rpm } = this.account;
    if (rpm === null) return;
    this.#quota = this.#books.quota.owe(id, rpm, this.#books.clock(), count);
    this.#tokens += count;
  }

  /** Has `undo` run with a refund. */
  onRefund(undo: () => void): void {
    (this.#undo ??= []).push(undo);
  }

  /** The request has made something that the journal must write before the answer is sent. `undo` removes it with a refund. */
  commitWith(undo: () => void): void {
    this.#mustCommit = true;
    this.onRefund(undo);
  }

  /** The answer is stored for an `Idempotency-Key`. */
  stores(answer: StoredAnswer): void {
    this.#stored = answer;
  }

  /** The answer repeats a stored one. */
  replays(): void {
    this.#isReplay = true;
  }

  /**
   * Waits until the store has what the answer depends on. Null: the answer may go at once. Else a promise of the refusal to send in its
   * place, or of null. On a full or broken disk an answer that costs neither credits nor calls goes out, and its quota is written later.
   */
  commit(): Promise<ServiceError | null> | null {
    const waits = this.#whatToWaitFor();
    if (waits === null) {
      this.#committed();
      return null;
    }
    return waits.then((refusal) => {
      if (refusal === null) this.#committed();
      return refusal;
    });
  }

  #committed(): void {
    if (this.#state !== 'refunded') this.#state = 'committed';
  }

  #whatToWaitFor(): Promise<ServiceError | null> | null {
    const { keys, journal } = this.#books;
    const key = this.#key;
    if (key === null) return null;
    const isPaid = this.#mustCommit || keys.hasUnwrittenCharge(key.id);
    const stored = this.#stored;
    if (isPaid || keys.hasUnwritten(key.id)) {
      return journal.written().then((isWritten) => {
        const isLost = stored?.isLost() === true;
        if (isWritten) return isLost || keys.hasUnwritten(key.id) ? storeDamaged() : null;
        return isPaid || !journal.isDiskUnusable ? storeUnwritable(journal.failure, 'charged') : null;
      });
    }
    return stored?.isPending() === true ? journal.written().then(() => (stored.isLost() ? storeDamaged() : null)) : null;
  }

  /** The request is refused with `status`. A status that settles the request keeps its charge; any other refunds it. */
  refuse(status: number): void {
    if (settlesRequest(status)) return;
    this.refund();
    this.#isReplay = false;
    const hasNoRoom = status === ERRORS.rate_limited.status || status === ERRORS.overloaded.status;
    if (this.#tokens === 0 || !hasNoRoom) return;
    const { id, rpm } = this.account;
    this.#quota = this.#books.quota.giveBack(id, rpm as number, this.#books.clock(), this.#tokens);
    this.#tokens = 0;
  }

  /** Gives back calls and credits, and undoes what came with them. Safe to call twice. */
  refund(): void {
    this.#state = 'refunded';
    if (this.#calls !== 0 || this.#credits !== 0) this.#books.keys.book(this.account, { calls: -this.#calls, credits: -this.#credits });
    this.#calls = 0;
    this.#credits = 0;
    const undo = this.#undo;
    this.#undo = null;
    for (const one of undo ?? []) one();
  }

  #take(rpm: number, tokens: number): QuotaDecision {
    const decision = this.#books.quota.take(this.account.id, rpm, this.#books.clock(), tokens);
    this.#quota = decision;
    if (decision.allowed) this.#tokens += tokens;
    return decision;
  }
}

function spent(): ServiceError {
  return new ServiceError('insufficient_credits', 'this key has no calls or credits left for this request');
}
