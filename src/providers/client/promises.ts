/** The promises of an operation: tickets, waits between polls, and 404s to polls. */
import type { Answer } from '../../client/answer.ts';
import { ASK_AGAIN_MS, formOf404, retryAfter, type ClassifyOptions, type Unsuccessful } from '../../client/classify.ts';
import { TICKET_LOST, type PendingAnswer } from '../../client/provider-client.ts';
import type { ProviderOperation, ProviderPoll } from '../compiled-provider.ts';
import { GivenTickets } from './given-tickets.ts';
import type { Judgement, Said } from './judge.ts';
import { evaluate, inWords, laterBatch, Refusal } from './refusal.ts';
import { UnknownTickets } from './unknown-tickets.ts';

const MAX_TICKET_CHARS = 4_096;
/** Names the promise of a provider that gives it no name. */
const SAME_REQUEST = 'same-request';
/** The status of a provider that knew the ticket, and knows it no longer. */
const GONE = 410;
/** Growing waits end here, unless `everySeconds` is longer. */
const LONGEST_GROWN_MS = 60_000;

/** A request about a promise. */
export interface Promised {
  readonly poll: ProviderPoll | null;
  /** Null for the request that was answered with the promise. */
  readonly ticket: string | null;
  /** Polls that were answered with another promise. */
  readonly polls: number;
  /** Names the promise, together with its lookups. */
  readonly name: string;
  /** The operation of a request for several lookups; null for one alone. */
  readonly batchOf: string | null;
}

export class Promises {
  readonly #operation: Pick<ProviderOperation, 'creditsAt'>;
  readonly #unknown = new UnknownTickets();
  readonly #given = new GivenTickets();

  constructor(operation: Pick<ProviderOperation, 'creditsAt'>) {
    this.#operation = operation;
  }

  /** The answer is still to come. @throws Refusal `bad_shape` for an answer without a ticket, or with that of another request */
  async pending({ input, answer }: Said, { poll, ticket: before, polls, batchOf, name }: Promised): Promise<PendingAnswer | Unsuccessful> {
    // The vendor may give back what it took with the request: the answer names the cost.
    const meta = this.#operation.creditsAt === 'submit' ? { ...answer.meta, credits: 0 } : answer.meta;
    if (poll === null && batchOf !== null) throw laterBatch(batchOf);
    if (poll === null) return { kind: 'retryable', code: 'pending', detail: 'the answer comes later', retryAfterMs: null, meta };
    let ticket = before ?? SAME_REQUEST;
    if (poll.ticket !== null) {
      const found = (await evaluate(poll.ticket, input)) ?? before;
      if ((typeof found !== 'string' && typeof found !== 'number') || found === '')
        throw new Refusal('bad_shape', `${poll.ticket.key}: expected text or a number, got ${inWords(found ?? undefined)}`);
      ticket = String(found);
      if (ticket.length > MAX_TICKET_CHARS)
        throw new Refusal('bad_shape', `${poll.ticket.key} has more than ${MAX_TICKET_CHARS} characters`);
      if (before === null && !this.#given.isFirst(ticket, name))
        throw new Refusal('bad_shape', `${poll.ticket.key}: another request was given the same ticket`);
    }
    const waitMs = before === null ? poll.firstMs : grownMs(poll, polls);
    return { kind: 'pending', ticket, afterMs: Math.max(waitMs, askedMs(answer)), longestMs: poll.longestMs, meta };
  }

  /** A request asks with its ticket. */
  asks({ poll, ticket }: Promised): void {
    if (ticket !== null && (poll?.ticket ?? null) !== null) this.#given.isUsed(ticket);
  }

  /** The end of a ticket of several lookups that another request was given as well: its ids may be those of either. Null for others. */
  ofAnother({ poll, ticket, batchOf }: Promised, { meta }: Answer): Unsuccessful | null {
    if (ticket === null || batchOf === null || !this.#given.isAmbiguous(ticket)) return null;
    const detail = `${poll?.ticket?.key ?? 'poll.ticket'}: another request was given the same ticket`;
    return { kind: 'rejected', code: TICKET_LOST, detail, meta };
  }

  /** Another page of the answer follows. It is there already, however old the promise is. @param isLate the pages have taken too long */
  nextPage({ answer: { meta } }: Said, { ticket }: Promised, isLate: boolean): PendingAnswer {
    const longestMs = isLate ? 0 : Infinity;
    return { kind: 'pending', ticket: ticket ?? SAME_REQUEST, afterMs: 0, longestMs, meta: { ...meta, credits: 0 } };
  }

  /** Whether and when a poll without an answer is repeated. Null for an answer that ends the promise, or that is one. */
  goesOn(judgement: Judgement, answer: Answer, options: ClassifyOptions, promised: Promised, hasOwnRequest: boolean): PendingAnswer | null {
    return this.#doubted(judgement, answer, options, promised) ?? refusedPoll(judgement, answer, promised, hasOwnRequest);
  }

  /** Asks once more for a promise, however old, after a 404 that may come from a gateway. Null for any other answer. */
  #doubted(judgement: Judgement, answer: Answer, options: ClassifyOptions, { poll, ticket, name }: Promised): PendingAnswer | null {
    if (ticket === null) return null;
    const mayBeGateway = judgement.kind === 'wrong_address' || (judgement.kind === 'miss' && judgement.form !== undefined);
    if (poll === null || !mayBeGateway || answer.status !== 404) this.#unknown.isKnown(name);
    else if (!this.#unknown.counts(name, formOf404(answer, options)))
      return { kind: 'pending', ticket, afterMs: ASK_AGAIN_MS, longestMs: Infinity, meta: answer.meta };
    return null;
  }
}

/** A poll that is refused says nothing of the answer, which is paid for: the poll is repeated. Null for any other answer. */
function refusedPoll(
  judgement: Judgement,
  answer: Answer,
  { poll, ticket, polls }: Promised,
  hasOwnRequest: boolean,
): PendingAnswer | null {
  if (poll === null || ticket === null || judgement.kind !== 'rejected' || judgement.isByStatus !== true) return null;
  if (hasOwnRequest && judgement.meta.status === GONE) return null;
  const afterMs = Math.max(grownMs(poll, polls), askedMs(answer));
  return { kind: 'pending', ticket, afterMs, longestMs: poll.longestMs, meta: { ...judgement.meta, credits: 0 } };
}

/** The meaning of an answer that no rule sees. A page that refuses a poll comes from what stands in front of the provider: one failure. */
export function ofUnreadPoll(said: Unsuccessful): Unsuccessful {
  if (said.kind !== 'rejected') return said;
  const { code, detail, meta, page } = said;
  return { kind: 'retryable', code, detail, retryAfterMs: null, meta, ...(page === true ? { page } : {}) };
}

function askedMs(answer: Answer): number {
  return retryAfter(answer, { clock: Date.now }) ?? 0;
}

/** The wait before the next poll, milliseconds. @param polls that were answered with a promise, the latest included */
function grownMs({ everyMs, growth }: ProviderPoll, polls: number): number {
  return Math.min(everyMs * growth ** polls, Math.max(everyMs, LONGEST_GROWN_MS));
}

/** The meaning of an answer that ends a promise. @param hasOwnRequest whether polls are requests of their own */
export function ofPoll<J extends Exclude<Judgement, { kind: 'pending' }>>(judgement: J, hasOwnRequest: boolean): J | Unsuccessful {
  if (judgement.kind === 'miss') return { kind: 'miss', meta: judgement.meta };
  if (!hasOwnRequest) return judgement;
  // A 404 was doubted before.
  const isLost =
    judgement.kind === 'wrong_address'
      ? judgement.meta.status === 404
      : judgement.kind === 'rejected' && judgement.isByStatus === true && judgement.meta.status === GONE;
  if (isLost && 'detail' in judgement) return { kind: 'rejected', code: TICKET_LOST, detail: judgement.detail, meta: judgement.meta };
  if (judgement.kind === 'retryable' && judgement.code === 'http_204') return { kind: 'miss', meta: judgement.meta };
  return judgement;
}
