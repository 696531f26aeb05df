import type { LookupOptions } from '../client/provider-client.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { CallAnswer, EarlierPromise } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { StepContext } from './step-context.ts';
import { isTimeout, refusedAsTooLarge, waitedTooLong } from './too-large.ts';
import type { Step } from '../steps/registry.ts';

/**
 * The end of a request. `tooLarge`: the reason to make it smaller, for a sentence that begins with its name; null without one.
 * `isTooDear`: it was not sent, because the limits of the job have room for a smaller one only. That says nothing about the service.
 */
export interface EndedRequest {
  readonly settled: SettledCall<unknown>;
  readonly latencyMs: number;
  readonly tooLarge: string | null;
  readonly isTooDear: boolean;
}

export interface SentRequest {
  readonly step: Step;
  /** Lookups that it asks for. */
  readonly keys: number;
  /** The first record that asks for the first of them. */
  readonly origin: RecordOrigin | null;
  readonly idempotencyKey: string;
  /** The name of a promise to answer this request later; null without one. */
  readonly ticket: string | null;
  /** That promise; null without one. */
  readonly promise: EarlierPromise | null;
  /** One attempt; never throws. */
  send(options: LookupOptions): Promise<CallAnswer<unknown>>;
  /**
   * The provider answers later: from now on it is asked with this ticket.
   * @param charged credits that were named so far @param latencyMs of that answer
   */
  promised(ticket: string, charged: number, latencyMs: number): void;
  /** Late failures after which the request counts as too large. */
  readonly lateAttempts: number;
  /** The longest wait for an answer, milliseconds; null where no request is too large. */
  readonly limitMs: number | null;
}

/** Hands a request to the pool. A request that is too large ends at once, whatever attempts are left. */
export function submitRequest(pool: StepContext['pool'], request: SentRequest, settle: (ended: EndedRequest) => void): void {
  const { step, keys, origin, idempotencyKey, promise, limitMs, lateAttempts } = request;
  let { ticket } = request;
  let charged = promise?.charged ?? 0;
  let options: LookupOptions = ticket === null ? { idempotencyKey } : { idempotencyKey, ticket };
  let latencyMs = 0;
  let late = 0;
  let why: string | null = null;
  let isTooDear = false;
  const isDivisible = keys > 1;
  const canBeSmaller = limitMs !== null && isDivisible;
  pool.submit<unknown>({
    step,
    keys,
    origin,
    divisible: isDivisible,
    ...(promise === null ? {} : { promise }),
    send: async () => {
      const answer = await request.send(options);
      latencyMs = answer.meta.latencyMs;
      if (answer.kind === 'pending' && options.ticket !== undefined) options = { ...options, polls: (options.polls ?? 0) + 1 };
      return answer;
    },
    promised: (next, named) => {
      if (next === ticket && named === charged) return;
      [ticket, charged] = [next, named];
      options = { ...options, ticket };
      request.promised(next, named, latencyMs);
    },
    isTooDear: () => (isTooDear = isDivisible),
    givesUp: (failure) => {
      // With a ticket the provider has the request already: its size is no matter.
      if (!canBeSmaller || ticket !== null) return false;
      if (isTimeout(failure, limitMs)) late++;
      why = waitedTooLong(failure, limitMs) ?? (late >= lateAttempts ? `failed late (${failure.code})` : null);
      return why !== null;
    },
    settle: (settled) =>
      settle({ settled, latencyMs, isTooDear, tooLarge: why ?? (canBeSmaller && ticket === null ? refusedAsTooLarge(settled) : null) }),
  });
}
