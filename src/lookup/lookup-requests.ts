import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import { TICKET_LOST } from '../client/provider-client.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { LookupForm, StepLookup } from './lookup-form.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { isStillOpen, isUnreadable } from './lookup-outcome.ts';
import { PartEntries } from './part-entries.ts';
import { PollRequests } from './poll-requests.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import { isShared, MOST_ASKED, readNote, RequestPart, writeNote, type PartNote } from './request-parts.ts';
import { RequestQueue } from './request-queue.ts';
import { SharedTickets } from './shared-tickets.ts';
import type { StepContext } from './step-context.ts';
import { submitRequest, type EndedRequest, type SentRequest } from './submit-request.ts';

/**
 * The requests of a step: one for each lookup or, where the provider takes several, one for as many as it takes. A request that is too
 * large for the provider, for example after a timeout, is halved at once, and the size that works is kept. A request that fails otherwise
 * is halved until the lookup that breaks it is alone. A lookup that an answer leaves out is asked once more. Where the answer was promised
 * before, the request was paid for: only a retry asks once more, with the ticket first and then alone.
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
  readonly #tickets: SharedTickets<L, R>;
  readonly #entries: PartEntries<L, R>;
  /** Requests of the run before. */
  readonly #rejoined = new RejoinedGroups<PartNote, null>();
  #calls = 0;
  #isGivenUp = false;

  /** Asks the ledger again for a lookup whose ticket has ended; set by its step. */
  onTicketEnded: (one: LookupInFlight<L, R>) => void = () => undefined;

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
    this.#tickets = new SharedTickets({
      context,
      form,
      answers,
      poll: (part) => this.#send(part),
      onEnded: (one) => this.onTicketEnded(one),
    });
    this.#entries = new PartEntries(context, form, answers, this.#tickets);
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

  /** Tickets that wait for other runs, or for a claim. */
  get claiming(): number {
    return this.#tickets.claiming;
  }

  /** Lookups waiting for a request to fill up. */
  get waiting(): number {
    return this.#queue?.size ?? 0;
  }

  /** Requests of the run before whose lookups have not all arrived. */
  get incomplete(): number {
    return this.#rejoined.incomplete + this.#tickets.incomplete + (this.polls?.incomplete ?? 0);
  }

  ask(one: LookupInFlight<L, R>): void {
    if (this.#queue === null) this.#sendAlone(one, null);
    else this.#queue.add(one.lookup.key);
  }

  /** Asks for a lookup that the run before was asking for, together with the others of its request. */
  resume(one: LookupInFlight<L, R>, known: LedgerAnswer & { readonly kind: 'asking' }): void {
    const note = readNote(known.text);
    if (isShared(note)) {
      if (one.endedTicket === note.id) this.ask(one);
      else this.#tickets.rejoin(one, note);
      return;
    }
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
    this.#tickets.giveUpOnMissing();
    for (const { group, members } of this.#rejoined.takeAll()) this.#send(RequestPart.ofNote(group, [...members.keys()]));
  }

  /** Sends nothing more. The pool is drained, so no call is in flight. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#queue?.clear();
    this.polls?.clear();
    this.#tickets.clear();
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
    if (part.isShared) this.#sendTogether(all, part);
    else if (all.length === 1) this.#sendAlone(first, part);
    else if (all.length > this.#form.size) this.#halve(part);
    else this.#sendTogether(all, part);
  }

  #sendTogether(all: readonly LookupInFlight<L, R>[], part: RequestPart): void {
    const lookups = this.#entries.lookupsOf(part);
    const request = this.#form.requestFor(lookups);
    const id = this.#entries.keyOf(part);
    // A promise is an answer to the request, whose size it proves.
    const slot = part.ticket === null ? (this.#queue?.takeSlot(all.length) ?? null) : null;
    this.#submit(
      {
        keys: all.length,
        origin: all[0]?.origin ?? null,
        idempotencyKey: id,
        ticket: part.ticket,
        promise: part.promise,
        send: (options) => request.send(part.isLacking ? { ...options, isAnswered: true } : options),
        promised: (ticket, charged, latencyMs) => {
          this.#entries.promised(part, id, ticket, charged);
          slot?.free(latencyMs);
        },
      },
      (ended) => {
        this.#settleTogether(part, all, ended, (settled) => {
          const answers = request.answers(settled);
          return lookups.flatMap((lookup, place) => (lookup === null ? [] : [answers[place] ?? null]));
        });
        slot?.free(ended.settled.kind === 'ok' ? ended.latencyMs : null);
      },
    );
  }

  /** @param part of a request; null for a lookup that never was in one */
  #sendAlone(one: LookupInFlight<L, R>, part: RequestPart | null): void {
    const { hasOwnRequest } = this.#form;
    const seed = part === null ? one.seed : null;
    const request = this.#form.requestFor([one.lookup]);
    let own = part ?? (hasOwnRequest ? null : RequestPart.first([one.lookup.key]));
    const id = own === null ? this.#context.idempotencyKey(this.#form.textOf([one.lookup]), seed) : this.#entries.keyOf(own, seed);
    const slot = part !== null && !hasOwnRequest && part.ticket === null ? (this.#queue?.takeSlot(1) ?? null) : null;
    this.#submit(
      {
        keys: 1,
        origin: one.origin,
        idempotencyKey: id,
        ticket: own?.ticket ?? null,
        promise: own?.promise ?? null,
        send: (options) => request.send(own?.isLacking === true ? { ...options, isAnswered: true } : options),
        promised: (ticket, charged, latencyMs) => {
          this.#entries.promised((own ??= RequestPart.first([one.lookup.key])), id, ticket, charged);
          slot?.free(latencyMs);
        },
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
        slot?.free(settled.kind === 'ok' ? latencyMs : null);
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

  #settleTogether(
    part: RequestPart,
    all: readonly LookupInFlight<L, R>[],
    { settled, tooLarge, isTooDear }: EndedRequest,
    answersOf: (settled: SettledCall<unknown> & { readonly kind: 'ok' }) => readonly (SettledCall<RecordAnswer<R>> | null)[],
  ): void {
    part.settle();
    if (settled.kind === 'ok') return this.#answered(part, all, answersOf(settled), settled, this.#entries.keyOf(part));
    if (part.ticket !== null) return this.#settleParts(part, all, settled);
    if (isTooDear) return this.#halve(part);
    if (tooLarge !== null && this.#queue?.wasTooLarge(all.length, tooLarge) === true) {
      if (part.group !== null && !part.isKept && this.#form.strategy.isOrdered) this.#queue.putBack(part.group);
      else this.#halve(part);
      return;
    }
    if (isUnreadable(settled)) return this.#settleParts(part, all, settled);
    // One lookup is refused or breaks the provider: halve until it is alone, so that its neighbours get their answers.
    this.#answers.judgeTogether(settled);
    this.#halve(part);
  }

  /** Settles the lookups of a request, which share its fate. */
  #settleParts(part: RequestPart, all: readonly LookupInFlight<L, R>[], settled: SettledCall<never> | SettledCall<unknown>): void {
    const isOpen = isStillOpen(part.ticket, settled);
    const id = this.#entries.keyOf(part);
    // A promise that is open, or that the provider has forgotten, says nothing about its lookups.
    const isKnown = settled.kind === 'failed' && !isOpen && !(part.isShared && settled.code === TICKET_LOST);
    const failed = (settled.kind !== 'failed' || isKnown ? settled : { ...settled, rejected: false }) as SettledCall<never>;
    const places = new Map(part.keys.map((key, at) => [key, at]));
    const noteOf = ({ lookup: { key } }: LookupInFlight<L, R>): string => writeNote(part.note(id, places.get(key) ?? null));
    this.#answers.together(
      () => {
        for (const one of all)
          this.#answers.settle(one, failed, { note: isOpen ? noteOf(one) : undefined, beside: () => this.#entries.notesOf(part) });
      },
      (hasAnswers) => [...(hasAnswers || part.isKept ? this.#entries.notesOf(part) : []), ...this.#entries.endOf(part, id, all, isOpen)],
    );
    if (part.isShared) this.#tickets.close(id, !isOpen);
  }

  /** A request was answered: its answers become durable together, and with them the notes about the lookups that it left out. */
  #answered(
    part: RequestPart,
    all: readonly LookupInFlight<L, R>[],
    answers: readonly (SettledCall<RecordAnswer<R>> | null)[],
    { attempts, requestId }: Pick<SettledCall<unknown>, 'attempts' | 'requestId'>,
    id: string,
  ): void {
    const left: Lacking<L, R>[] = [];
    const missing = {
      kind: 'failed',
      rejected: false,
      status: 0,
      code: 'no_result',
      attempts: Math.max(attempts, part.asked),
      requestId,
    } as const;
    const mayAsk = part.ticket === null ? part.asked < MOST_ASKED : part.isLacking;
    const round = this.polls?.firstRound(id) ?? null;
    const isKept = (): boolean => part.isShared && !mayAsk && left.length > 0;
    let again: readonly RequestPart[] = [];
    this.#answers.together(
      () => {
        for (const [i, one] of all.entries()) {
          const answer = answers[i] ?? null;
          if (answer === null) left.push({ one, failed: missing });
          else if (answer.kind === 'failed' && isStillOpen(part.ticket, answer)) left.push({ one, failed: { ...answer, rejected: false } });
          else if (round?.takes(one, answer) !== true) this.#answers.settle(one, answer, { beside: () => this.#entries.notesOf(part) });
        }
        if (mayAsk) again = this.#askAgain(part, left);
        else for (const { one, failed } of left) this.#answers.settle(one, failed, { note: part.lackingText(id, one.lookup.key) });
      },
      () => [
        ...(round?.entries() ?? []),
        ...this.#entries.notesOf(part),
        ...(isKept() ? [this.#tickets.unlisted(part.lackingNote(id))] : this.#entries.endOf(part, id, all)),
      ],
    );
    round?.hold();
    if (part.isShared) this.#tickets.close(id, !isKept());
    for (const one of again) this.#send(one);
  }

  #askAgain(part: RequestPart, left: readonly Lacking<L, R>[]): readonly RequestPart[] {
    if (left.length === 0) return [];
    const keys = left.map(({ one: { lookup } }) => lookup.key);
    const together = this.#form.strategy.leftOut === 'together' && part.ticket === null;
    return part.split(together ? [keys] : keys.map((key) => [key]), MOST_ASKED);
  }

  #halve(part: RequestPart): void {
    const half = Math.ceil(part.keys.length / 2);
    const halves = part.split([part.keys.slice(0, half), part.keys.slice(half)], part.asked);
    // A resume must not ask for the part as a whole again: one of its halves may be paid by then.
    this.#context.ledger.put(this.#entries.notesOf(part));
    for (const one of halves) this.#send(one);
  }
}

/** A lookup that an answer lacks, or answers with what is another's, and how it fails unless it is asked again. */
interface Lacking<L, R> {
  readonly one: LookupInFlight<L, R>;
  readonly failed: SettledCall<never> & { readonly kind: 'failed' };
}
