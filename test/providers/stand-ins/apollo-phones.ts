/** Phones that the Apollo stand-in finds later: a request id at once, and the result at a poll. */
import { phoneResult } from './apollo-records.ts';
import type { StandInReply } from './stand-in.ts';
import type { StandInPerson } from './world.ts';

/** Older results are forgotten, as results of more than thirty days are. */
const MAX_RESULTS = 10_000;
/** The first id is the one of the pages. JavaScript cannot hold it as a number. */
const FIRST_ID = 1_039_995_589_705_121_900n;
const MAX_INT64 = 2n ** 63n - 1n;

interface Pending {
  readonly people: readonly StandInPerson[];
  readonly indexes: readonly number[];
  readonly readyAt: number;
}

export class ApolloPhones {
  readonly #delayMs: number;
  readonly #pending = new Map<string, Pending>();
  #issued = 0n;

  /** `delayMs` passes between a request and its result. */
  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** A new request id: a signed 64-bit integer in decimal digits, negative every other time. */
  open(people: readonly StandInPerson[], indexes: readonly number[], now: number): string {
    const id = String((FIRST_ID + this.#issued) * (this.#issued % 2n === 0n ? 1n : -1n));
    this.#issued++;
    const [oldest] = this.#pending.keys();
    if (oldest !== undefined && this.#pending.size >= MAX_RESULTS) this.#pending.delete(oldest);
    this.#pending.set(id, { people, indexes, readyAt: now + this.#delayMs });
    return id;
  }

  poll(id: string, now: number): StandInReply {
    if (!/^-?\d{1,19}$/.test(id) || BigInt(id) > MAX_INT64 || BigInt(id) < -MAX_INT64 - 1n)
      return { status: 400, body: { error_code: 'invalid_request_id' } };
    const pending = this.#pending.get(id);
    if (pending === undefined) return { status: 404, body: { error_code: 'request_id_unknown' } };
    const leftMs = pending.readyAt - now;
    if (leftMs > 0)
      return { status: 404, isMiss: true, body: { error_code: 'result_pending', retry_after_seconds: Math.ceil(leftMs / 1_000) } };
    return { status: 200, body: phoneResult(id, pending.people, pending.indexes) };
  }
}
