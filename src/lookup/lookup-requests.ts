import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import { STILL_PENDING } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { isUnreadable } from './lookup-outcome.ts';
import { PollRequests } from './poll-requests.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import { readNote, RequestPart, writeNote, type PartNote } from './request-parts.ts';
import { RequestQueue } from './request-queue.ts';
import type { StepContext } from './step-context.ts';
import { submitRequest, type EndedRequest, type SentRequest } from './submit-request.ts';

/** Requests for a lookup that an answer left out: one more. */
const ASK_FOR_MISSING = 2;

/**
 * The requests of a step: one for each lookup or, where the provider takes several, one for as many as it takes. A request that is too
 * large for the provider, for example after a timeout, is halved at once, and the size that works is kept. A request that fails otherwise
 * is halved until the lookup that breaks it is alone. A lookup that an answer leaves out is asked once more.
 */
export class LookupRequests<L extends StepLookup, R> {
  readonly #context: StepContext;
  readonly #form: LookupForm<L, R>;
  readonly #answers: LookupAnswers<L, R>;
  readonly #limitMs: number | null;
  /** Lookups that wait for a request to fill up; null where each has a request of its own. */
  readonly #queue: RequestQueue | null;
  /** Null where every answer is final. */
  readonly polls: PollRequests<L, R> | null;
  /** Requests of the run before. */
  readonly #rejoined = new RejoinedGroups<PartNote, null>();
  #calls = 0;
  #isGivenUp = false;

  constructor(context: StepContext, form: LookupForm<L, R>, answers: LookupAnswers<L, R>) {
    const { isOrdered } = form.strategy;
    const pace = form.size === 1 ? null : (context.paceOf?.(form.size, !isOrdered) ?? null);
    this.#context = context;
    this.#form = form;
    this.#answers = answers;
    this.#limitMs = pace?.limitMs ?? null;
    this.#queue =
      form.size === 1
        ? null
        : new RequestQueue({
            batch: form.size,
            isOrdered,
            pace,
            send: (group) => this.#send(RequestPart.whole(group)),
            onKept: context.onSettled,
          });
    this.polls =
      form.polls === undefined
        ? null
        : new PollRequests({
            context,
            form,
            rule: form.polls,
            answers,
            queue: this.#queue,
            submit: (request, settle) => this.#submit(request, settle),
          });
  }

  /** Calls that are in flight or waiting, also for a checkpoint. */
  get calls(): number {
    return this.#calls + (this.#queue?.isKeeping === true ? 1 : 0);
  }

  /** Lookups waiting for a request to fill up. */
  get waiting(): number {
    return this.#queue?.size ?? 0;
  }

  /** Requests of the run before whose lookups have not all arrived. */
  get incomplete(): number {
    return this.#rejoined.incomplete + (this.polls?.incomplete ?? 0);
  }

  ask(one: LookupInFlight<L, R>): void {
    if (this.#queue === null) this.#sendAlone(one, null);
    else this.#queue.add(one.lookup.key);
  }

  /** Asks for a lookup that the run before was asking for, together with the others of its request. */
  resume(one: LookupInFlight<L, R>, known: LedgerAnswer & { readonly kind: 'asking' }): void {
    const note = readNote(known.text);
    const members = this.#rejoined.add(note, one.lookup.key, null);
    if (members !== null) this.#send(RequestPart.ofNote(note, [...members.keys()]));
  }

  /** Sends the waiting lookups, in full requests or not, as far as the provider can take them now. */
  flush(): void {
    this.#queue?.flush();
  }

  /** Sends incomplete requests of the run before as they are: no more of their lookups arrive. */
  giveUpOnMissing(): void {
    this.polls?.goAsTheyAre();
    for (const { group, members } of this.#rejoined.takeAll()) this.#send(RequestPart.ofNote(group, [...members.keys()]));
  }

  /** Sends nothing more. The pool is drained, so no call is in flight. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#queue?.clear();
    this.polls?.clear();
    this.#rejoined.takeAll();
    this.#calls = 0;
  }

  /** Polls nothing more; the run's last checkpoint has the current size. */
  stop(): void {
    this.polls?.stop();
    this.#queue?.stop();
  }

  #send(part: RequestPart): void {
    const all = part.keys.flatMap((key) => this.#answers.find(key) ?? []);
    const [first] = all;
    if (first === undefined) return;
    if (all.length === 1) this.#sendAlone(first, part);
    else if (all.length > this.#form.size) this.#halve(part);
    else this.#sendTogether(all, part);
  }

  #sendTogether(all: readonly LookupInFlight<L, R>[], part: RequestPart): void {
    const request = this.#form.requestFor(all.map(({ lookup }) => lookup));
    const id = this.#keyOf(part);
    this.#queue?.left();
    this.#submit(
      {
        keys: all.length,
        origin: all[0]?.origin ?? null,
        idempotencyKey: id,
        ticket: part.ticket,
        promise: part.promise,
        send: (options) => request.send(options),
        promised: (ticket, charged) => this.#promised(part, ticket, charged),
      },
      (ended) => {
        this.#settleTogether(part, all, ended, (settled) => request.answers(settled));
        this.#queue?.ended(all.length, ended.settled.kind === 'ok' ? ended.latencyMs : null);
        this.#queue?.sendNext();
      },
    );
  }

  /** @param part of a request; null for a lookup that never was in one */
  #sendAlone(one: LookupInFlight<L, R>, part: RequestPart | null): void {
    const { hasOwnRequest } = this.#form;
    const seed = part === null ? one.seed : null;
    const request = this.#form.requestFor([one.lookup]);
    let own = part ?? (hasOwnRequest ? null : RequestPart.first([one.lookup.key]));
    const id = own === null ? this.#context.idempotencyKey(this.#form.textOf([one.lookup]), seed) : this.#keyOf(own, seed);
    const isOfQueue = part !== null && !hasOwnRequest;
    if (isOfQueue) this.#queue?.left();
    this.#submit(
      {
        keys: 1,
        origin: one.origin,
        idempotencyKey: id,
        ticket: own?.ticket ?? null,
        promise: own?.promise ?? null,
        send: (options) => request.send(options),
        promised: (ticket, charged) => this.#promised((own ??= RequestPart.first([one.lookup.key])), ticket, charged),
      },
      ({ settled, latencyMs }) => {
        own?.settle();
        if (settled.kind === 'ok') {
          const answers = request.answers(settled);
          const [answer = null] = answers;
          if (own === null && answer !== null) this.#answers.settle(one, answer);
          else this.#answered(own ?? RequestPart.first([one.lookup.key]), [one], answers, settled, id);
        } else if (own === null) this.#answers.settle(one, settled);
        else this.#settleParts(own, [one], settled);
        if (!isOfQueue) return;
        this.#queue?.ended(1, settled.kind === 'ok' ? latencyMs : null);
        this.#queue?.sendNext();
      },
    );
  }

  #submit(
    request: Pick<SentRequest, 'keys' | 'origin' | 'idempotencyKey' | 'ticket' | 'promise' | 'send' | 'promised'>,
    settle: (ended: EndedRequest) => void,
  ): void {
    const { step } = this.#form;
    const { pool, onSettled } = this.#context;
    const lateAttempts = this.#queue?.lateAttempts(request.keys) ?? 1;
    this.#calls++;
    submitRequest(pool, { ...request, step, lateAttempts, limitMs: this.#limitMs }, (ended) => {
      if (!this.#isGivenUp) this.#calls--;
      settle(ended);
      onSettled();
    });
  }

  /** The provider answers later: the ledger keeps the ticket with which the part is asked for. */
  #promised(part: RequestPart, ticket: string, charged: number): void {
    part.isPromised(ticket, charged, Date.now());
    this.#context.ledger.promise(this.#notesOf(part));
  }

  #settleTogether(
    part: RequestPart,
    all: readonly LookupInFlight<L, R>[],
    { settled, tooLarge, isTooDear }: EndedRequest,
    answersOf: (settled: SettledCall<unknown> & { readonly kind: 'ok' }) => readonly (SettledCall<RecordAnswer<R>> | null)[],
  ): void {
    part.settle();
    if (settled.kind === 'ok') return this.#answered(part, all, answersOf(settled), settled, this.#keyOf(part));
    if (isTooDear) return this.#halve(part);
    if (tooLarge !== null && this.#queue?.wasTooLarge(all.length, tooLarge) === true) {
      if (part.group !== null && !part.isKept && this.#form.strategy.isOrdered) this.#queue.putBack(part.group);
      else this.#halve(part);
      return;
    }
    if (isUnreadable(settled) || isStillOpen(part, settled)) return this.#settleParts(part, all, settled);
    // One lookup is refused or breaks the provider: halve until it is alone, so that its neighbours get their answers.
    this.#answers.judgeTogether(settled);
    this.#halve(part);
  }

  /** Settles the lookups of a request, which share its fate. */
  #settleParts(part: RequestPart, all: readonly LookupInFlight<L, R>[], settled: SettledCall<never> | SettledCall<unknown>): void {
    const failed = settled as SettledCall<never>;
    const note = isStillOpen(part, settled) ? writeNote(part.note(this.#keyOf(part))) : undefined;
    this.#answers.together(
      () => {
        for (const one of all) this.#answers.settle(one, failed, { note, beside: () => this.#notesOf(part) });
      },
      (hasAnswers) => (hasAnswers || part.isKept ? this.#notesOf(part) : []),
    );
  }

  /** A request was answered: its answers become durable together, and with them the notes about the lookups that it left out. */
  #answered(
    part: RequestPart,
    all: readonly LookupInFlight<L, R>[],
    answers: readonly (SettledCall<RecordAnswer<R>> | null)[],
    { attempts, requestId }: Pick<SettledCall<unknown>, 'attempts' | 'requestId'>,
    id: string,
  ): void {
    const left: LookupInFlight<L, R>[] = [];
    const round = this.polls?.firstRound(id) ?? null;
    let again: readonly RequestPart[] = [];
    this.#answers.together(
      () => {
        for (const [i, one] of all.entries()) {
          const answer = answers[i] ?? null;
          if (answer === null) left.push(one);
          else if (round?.takes(one, answer) !== true) this.#answers.settle(one, answer, { beside: () => this.#notesOf(part) });
        }
        if (part.asked < ASK_FOR_MISSING) again = this.#askAgain(part, left);
        else
          for (const one of left)
            this.#answers.settle(one, {
              kind: 'failed',
              rejected: false,
              status: 0,
              code: 'no_result',
              attempts: Math.max(attempts, part.asked),
              requestId,
            });
      },
      () => [...(round?.entries() ?? []), ...this.#notesOf(part)],
    );
    round?.hold();
    for (const one of again) this.#send(one);
  }

  #askAgain(part: RequestPart, left: readonly LookupInFlight<L, R>[]): readonly RequestPart[] {
    if (left.length === 0) return [];
    const keys = left.map(({ lookup }) => lookup.key);
    return part.split(this.#form.strategy.leftOut === 'together' ? [keys] : keys.map((key) => [key]), part.asked + 1);
  }

  #halve(part: RequestPart): void {
    const half = Math.ceil(part.keys.length / 2);
    const halves = part.split([part.keys.slice(0, half), part.keys.slice(half)], part.asked);
    // A resume must not ask for the part as a whole again: one of its halves may be paid by then.
    this.#context.ledger.put(this.#notesOf(part));
    for (const one of halves) this.#send(one);
  }

  /** The open parts of the same request, which the ledger must know together with the first answer to one of them. */
  #notesOf(part: RequestPart): LedgerEntry[] {
    return part.takeUnnoted().flatMap(({ part: other }) => {
      const text = writeNote(other.note(this.#keyOf(other)));
      return other.keys.flatMap((key): LedgerEntry[] => {
        const one = this.#answers.find(key);
        return one === undefined ? [] : [this.#answers.entry(one, { kind: 'asking', text })];
      });
    });
  }

  /** The Idempotency-Key of a request. With that of the first request, a provider would repeat the answer that left the lookup out. */
  #keyOf({ keys, asked, promisedAs }: RequestPart, seed: string | null = null): string {
    // A poll that is the same request must be the one that was paid for.
    if (promisedAs !== null) return promisedAs;
    const lookups = keys.flatMap((key) => this.#answers.find(key)?.lookup ?? []);
    const text = this.#form.textOf(lookups);
    const isFirst = asked === 1 || (lookups.length === 1 && this.#form.hasOwnRequest);
    return this.#context.idempotencyKey(isFirst ? text : `${text}\nleft out`, seed);
  }
}

/** Whether a promise stays open, so that a retry asks for its answer: polls that fail do not end it, the provider's own refusal does. */
function isStillOpen({ ticket }: RequestPart, settled: SettledCall<unknown>): boolean {
  return settled.kind === 'failed' && (settled.code === STILL_PENDING || (ticket !== null && !settled.rejected));
}
