import type { RecordAnswer } from '../client/attempt-client.ts';
import type { BatchItem, LookupBatches, LookupOptions, LookupStepName } from '../client/provider-client.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import { STILL_PENDING } from '../pool/call.ts';
import { answerToOne, settledItem } from './lookup-batch.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { isUnreadable, unanswered } from './verify-outcome.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import { RequestPart, writeNote, type PartNote } from './request-parts.ts';
import type { StepContext } from './step-context.ts';

/** The request of a lookup. */
export interface LookupForm<L, R> {
  /** The text that names the lookup: the same each time. */
  bodyOf(lookup: L): string;
  call(body: string, options: LookupOptions): Promise<CallAnswer<RecordAnswer<R>>>;
}

/** Requests for a lookup that an answer left out: one more. */
const ASK_FOR_MISSING = 2;

/**
 * The requests of a step: one for each lookup or, where the provider takes several, one for as many as it takes. When such a request fails,
 * its halves are asked. A lookup that an answer leaves out is asked once more, alone.
 */
export class LookupRequests<L extends { readonly key: string }, R> {
  readonly #context: StepContext;
  readonly #step: LookupStepName;
  readonly #form: LookupForm<L, R>;
  readonly #answers: LookupAnswers<L, R>;
  readonly #batches: LookupBatches | null;
  /** Lookups in a full request. */
  readonly #size: number;
  /** Where the provider has no request for a lookup alone: the requests for several. */
  readonly #forOne: LookupBatches | null;
  #waiting: string[] = [];
  /** Requests of the run before. */
  readonly #rejoined = new RejoinedGroups<PartNote, null>();
  #calls = 0;
  #isGivenUp = false;

  constructor(context: StepContext, step: LookupStepName, form: LookupForm<L, R>, answers: LookupAnswers<L, R>) {
    this.#context = context;
    this.#step = step;
    this.#form = form;
    this.#answers = answers;
    this.#batches = context.client.batches ?? null;
    this.#size = Math.max(1, this.#batches?.size(step) ?? 1);
    this.#forOne = this.#batches?.isOnly?.(step) === true ? this.#batches : null;
  }

  /** Calls that are in flight or waiting. */
  get calls(): number {
    return this.#calls;
  }

  /** Lookups waiting for a request to fill up. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Requests of the run before whose lookups have not all arrived. */
  get incomplete(): number {
    return this.#rejoined.incomplete;
  }

  /** @param seed see `StepContext.idempotencyKey` */
  ask(one: LookupInFlight<L, R>, seed: string | null): void {
    if (this.#size === 1) {
      this.#sendAlone(one, seed, null);
      return;
    }
    this.#waiting.push(one.lookup.key);
    if (this.#waiting.length >= this.#size) this.flush();
  }

  /** Asks for a lookup that the run before was asking for, together with the others of its request. */
  resume(one: LookupInFlight<L, R>, note: PartNote): void {
    const members = this.#rejoined.add(note, one.lookup.key, null);
    if (members !== null) this.#send(RequestPart.ofNote(note, [...members.keys()]));
  }

  /** Sends the waiting lookups, in a full request or not. */
  flush(): void {
    const keys = this.#waiting;
    this.#waiting = [];
    if (keys.length > 0) this.#send(RequestPart.first(keys));
  }

  /** Sends incomplete requests of the run before as they are: no more of their lookups arrive. */
  giveUpOnMissing(): void {
    for (const { group, members } of this.#rejoined.takeAll()) this.#send(RequestPart.ofNote(group, [...members.keys()]));
  }

  /** Sends nothing more. The pool is drained, so no call is in flight. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#waiting = [];
    this.#rejoined.takeAll();
    this.#calls = 0;
  }

  #send(part: RequestPart): void {
    const all = part.keys.flatMap((key) => this.#answers.find(key) ?? []);
    const [first] = all;
    if (first === undefined) return;
    if (all.length === 1) this.#sendAlone(first, null, part);
    else if (this.#batches === null || all.length > this.#size) this.#halve(part);
    else this.#sendTogether(this.#batches, all, part);
  }

  #sendTogether(batches: LookupBatches, all: readonly LookupInFlight<L, R>[], part: RequestPart): void {
    const bodies = all.map(({ lookup }) => this.#form.bodyOf(lookup));
    const options = { idempotencyKey: this.#keyOf(part) };
    this.#calls++;
    this.#context.pool.submit<readonly BatchItem[]>({
      step: this.#step,
      keys: all.length,
      origin: all[0]?.origin ?? null,
      divisible: true,
      send: () => batches.call(this.#step, bodies, options),
      isTooDear: () => true,
      settle: (settled) =>
        this.#ended(() => {
          part.settle();
          if (settled.kind === 'ok') this.#answered(part, all, settled);
          else if (isUnreadable(settled)) this.#unreadable(part, all, settled);
          else this.#failed(part, settled);
        }),
    });
  }

  /** @param part of a request; null for a lookup that never was in one */
  #sendAlone(one: LookupInFlight<L, R>, seed: string | null, part: RequestPart | null): void {
    const { ledger, idempotencyKey, pool } = this.#context;
    const body = this.#form.bodyOf(one.lookup);
    const forOne = this.#forOne;
    let own = part ?? (forOne === null ? null : RequestPart.first([one.lookup.key]));
    const key = own === null ? idempotencyKey(body, seed) : this.#keyOf(own);
    let ticket = own?.ticket ?? null;
    let options: LookupOptions = ticket === null ? { idempotencyKey: key } : { idempotencyKey: key, ticket };
    this.#calls++;
    pool.submit<RecordAnswer<R> | null>({
      step: this.#step,
      origin: one.origin,
      send:
        forOne === null ? () => this.#form.call(body, options) : async () => answerToOne(await forOne.call(this.#step, [body], options)),
      promised: (next) => {
        if (next === ticket) return;
        ticket = next;
        options = { idempotencyKey: key, ticket };
        own ??= RequestPart.first([one.lookup.key]);
        own.promise(next);
        ledger.put(this.#notesOf(own));
      },
      settle: (settled) =>
        this.#ended(() => {
          own?.settle();
          const { value } = settled.kind === 'ok' ? settled : { value: null };
          const answer = settled.kind !== 'ok' ? settled : value === null ? null : { ...settled, value };
          if (own === null) {
            if (answer !== null) this.#answers.settle(one, answer);
          } else if (settled.kind === 'failed' && settled.code === STILL_PENDING)
            this.#settlePart(own, one, settled, writeNote(own.note(this.#keyOf(own))));
          else if (answer === null) this.#leftOut(own, one, settled);
          else this.#settlePart(own, one, answer);
        }),
    });
  }

  /** A call has ended. */
  #ended(settle: () => void): void {
    if (!this.#isGivenUp) this.#calls--;
    settle();
    this.#context.onSettled();
  }

  #answered(
    part: RequestPart,
    all: readonly LookupInFlight<L, R>[],
    settled: SettledCall<readonly BatchItem[]> & { readonly kind: 'ok' },
  ): void {
    const left: string[] = [];
    let alone: readonly RequestPart[] = [];
    this.#answers.together(
      () => {
        for (const [i, one] of all.entries()) {
          const item = settledItem<R>(settled.value[i], settled);
          if (item === null) left.push(one.lookup.key);
          else this.#answers.settle(one, item);
        }
        alone = part.split(
          left.map((key) => [key]),
          part.asked + 1,
        );
      },
      (hasAnswers) => this.#notesBeside(part, hasAnswers),
    );
    for (const one of alone) this.#send(one);
  }

  /** A request for one lookup was answered without it. */
  #leftOut(
    part: RequestPart,
    one: LookupInFlight<L, R>,
    { attempts, requestId }: Pick<SettledCall<unknown>, 'attempts' | 'requestId'>,
  ): void {
    if (part.asked >= ASK_FOR_MISSING) {
      this.#settlePart(part, one, { kind: 'failed', rejected: false, status: 0, code: 'no_result', attempts, requestId });
      return;
    }
    const again = part.split([part.keys], part.asked + 1);
    this.#context.ledger.put(this.#notesOf(part));
    for (const next of again) this.#send(next);
  }

  /** Settles a lookup that was asked for alone. @param note see `FailedLookup.note` */
  #settlePart(part: RequestPart, one: LookupInFlight<L, R>, settled: SettledCall<RecordAnswer<R>>, note?: string): void {
    this.#answers.together(
      () => this.#answers.settle(one, settled, note),
      (hasAnswers) => this.#notesBeside(part, hasAnswers),
    );
  }

  /** Without an answer in the ledger, a resume repeats the request as it was. */
  #notesBeside(part: RequestPart, hasAnswers: boolean): readonly LedgerEntry[] {
    return hasAnswers || part.isKept ? this.#notesOf(part) : [];
  }

  #unreadable(part: RequestPart, all: readonly LookupInFlight<L, R>[], settled: SettledCall<never>): void {
    this.#answers.together(
      () => {
        for (const one of all) this.#answers.settle(one, settled);
      },
      (hasAnswers) => this.#notesBeside(part, hasAnswers),
    );
  }

  /** One lookup is refused or breaks the provider: halve until it is alone, so that its neighbours get their answers. */
  #failed(part: RequestPart, settled: Exclude<SettledCall<unknown>, { kind: 'ok' }>): void {
    const { said, refused } = unanswered(settled);
    const { quarantine } = this.#context;
    if (said !== null && refused) quarantine.refuse(said, null);
    else if (said !== null) quarantine.judge(said, null);
    this.#halve(part);
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
        if (one === undefined) return [];
        const again = one.isKept;
        one.isKept = true;
        return [{ scope: one.scope, key, answer: { kind: 'asking', text }, ...(again ? { again } : {}) }];
      });
    });
  }

  /** The Idempotency-Key of a request. With that of the first request, a provider would repeat the answer that left the lookup out. */
  #keyOf({ keys, asked }: RequestPart): string {
    const bodies = keys.flatMap((key) => {
      const one = this.#answers.find(key);
      return one === undefined ? [] : [this.#form.bodyOf(one.lookup)];
    });
    const [first = ''] = bodies;
    if (bodies.length === 1 && this.#forOne === null) return this.#context.idempotencyKey(first);
    const text = JSON.stringify(bodies);
    return this.#context.idempotencyKey(asked === 1 ? text : `${text}\nleft out`);
  }
}
