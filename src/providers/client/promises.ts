/** The promises of an operation: tickets, waits between polls, and 404s to polls. */
import type { Answer } from '../../client/answer.ts';
import { ASK_AGAIN_MS, formOf404, retryAfter, type ClassifyOptions, type Unsuccessful } from '../../client/classify.ts';
import { TICKET_LOST, type PendingAnswer } from '../../client/provider-client.ts';
import type { ProviderOperation, ProviderPoll } from '../compiled-provider.ts';
import type { Judgement, Said } from './judge.ts';
import { evaluate, inWords, laterBatch, Refusal } from './refusal.ts';
import { UnknownTickets } from './unknown-tickets.ts';

const MAX_TICKET_CHARS = 4_096;
/** Names the promise of a provider that gives it no name. */
const SAME_REQUEST = 'same-request';
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

  constructor(operation: Pick<ProviderOperation, 'creditsAt'>) {
    this.#operation = operation;
  }

  /** The answer is still to come. @throws Refusal `bad_shape` for an answer without a ticket */
  async pending({ input, answer }: Said, { poll, ticket: before, polls, batchOf }: Promised): Promise<PendingAnswer | Unsuccessful> {
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
    }
    const askedMs = retryAfter(answer, { clock: Date.now }) ?? 0;
    const waitMs = before === null ? poll.firstMs : grownMs(poll, polls);
    return { kind: 'pending', ticket, afterMs: Math.max(waitMs, askedMs), longestMs: poll.longestMs, meta };
  }

  /** Another page of the answer follows. It is there already, however old the promise is. */
  nextPage({ answer: { meta } }: Said, { ticket }: Promised): PendingAnswer {
    return { kind: 'pending', ticket: ticket ?? SAME_REQUEST, afterMs: 0, longestMs: Infinity, meta: { ...meta, credits: 0 } };
  }

  /** Asks once more for a promise, however old, after a 404 that may come from a gateway. Null for any other answer. */
  doubted(judgement: Judgement, answer: Answer, options: ClassifyOptions, { poll, ticket, name }: Promised): PendingAnswer | null {
    if (ticket === null) return null;
    const mayBeGateway = judgement.kind === 'wrong_address' || (judgement.kind === 'miss' && judgement.form !== undefined);
    if (poll === null || !mayBeGateway || answer.status !== 404) this.#unknown.isKnown(name);
    else if (!this.#unknown.counts(name, formOf404(answer, options)))
      return { kind: 'pending', ticket, afterMs: ASK_AGAIN_MS, longestMs: Infinity, meta: answer.meta };
    return null;
  }
}

/** The wait before the next poll, milliseconds. @param polls that were answered with a promise, the latest included */
function grownMs({ everyMs, growth }: ProviderPoll, polls: number): number {
  return Math.min(everyMs * growth ** polls, Math.max(everyMs, LONGEST_GROWN_MS));
}

/** The meaning of an answer to a poll. A 404 was doubted before. @param hasOwnRequest whether polls are requests of their own */
export function ofPoll<J extends Exclude<Judgement, { kind: 'pending' }>>(judgement: J, hasOwnRequest: boolean): J | Unsuccessful {
  if (judgement.kind === 'miss') return { kind: 'miss', meta: judgement.meta };
  if (!hasOwnRequest) return judgement;
  if (judgement.kind === 'wrong_address' && judgement.meta.status === 404)
    return { kind: 'rejected', code: TICKET_LOST, detail: judgement.detail, meta: judgement.meta };
  if (judgement.kind === 'retryable' && judgement.code === 'http_204') return { kind: 'miss', meta: judgement.meta };
  return judgement;
}
