/** One operation of a provider: requests for one lookup, for several, and for an answer that was promised earlier. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallOptions } from '../../client/attempt-client.ts';
import type { Answer, QuotaReader } from '../../client/answer.ts';
import { ASK_AGAIN_MS, formOf404, retryAfter, type ClassifyOptions, type Unsuccessful } from '../../client/classify.ts';
import { oneLine } from '../../client/problem.ts';
import { TICKET_LOST, type LookupOptions, type PendingAnswer } from '../../client/provider-client.ts';
import type { Redactor } from '../../client/redactor.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import type { Transport } from '../../client/transport.ts';
import type { CallMeta, CallResult, Miss, Rejected } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { CompiledProvider, Mapping, ProviderOperation, ProviderRequest } from '../compiled-provider.ts';
import type { CallWatch } from './call-watch.ts';
import { quotaReader } from './declared-quota.ts';
import { judge, readSaid, type Judgement, type Said } from './judge.ts';
import type { LookupInput } from './lookup-text.ts';
import { mapRecord, undecidedRecord, type MappedRecord } from './map-record.ts';
import { CONTRADICTION, isAboutAnother, matchItems } from './match-items.ts';
import { evaluate, inWords, laterBatch, NotTaken, Refusal } from './refusal.ts';
import { storedAnswer, storedMiss } from './stored-answer.ts';
import type { RequestTemplate } from './request-template.ts';
import { UnknownTickets } from './unknown-tickets.ts';

/** A request that is ready to be filled, and the way to its address. */
export interface Route {
  readonly template: RequestTemplate;
  readonly origin: string;
  readonly transport: Transport;
}

export interface OperationContext {
  readonly provider: CompiledProvider;
  readonly apiKey: RotatingKey;
  readonly redactor: Redactor;
  readonly watch: CallWatch | null;
  routeOf(request: ProviderRequest): Route;
}

/** Makes the value of a match. @param record empty when no field has a value @param text of the body; null for an item of a batch */
export type ToValue<T> = (record: MappedRecord, said: Said, text: string | null, lookup: LookupInput) => T;

/** The facts of a call that was not sent. */
const NO_META: CallMeta = { status: 0, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 0 };
const MAX_TICKET_CHARS = 4_096;
/** Names the promise of a provider that gives it no name. */
const SAME_REQUEST = 'same-request';
/** Items that are mapped before other work has its turn, about 10 ms. */
const ITEMS_A_TURN = 64;

interface Exchanged {
  readonly answer: Answer;
  readonly keyVersion: number;
  readonly options: ClassifyOptions;
}

export class OperationClient<T> {
  readonly operation: ProviderOperation;
  readonly #context: OperationContext;
  readonly #toValue: ToValue<T>;
  readonly #single: Route | null;
  readonly #poll: Route | null;
  readonly #batch: Route | null;
  readonly #quota: QuotaReader;
  readonly #batchQuota: QuotaReader;
  readonly #unknown = new UnknownTickets();

  constructor(operation: ProviderOperation, context: OperationContext, toValue: ToValue<T>) {
    this.operation = operation;
    this.#context = context;
    this.#toValue = toValue;
    const { request, poll, batch } = operation;
    this.#single = request === null ? null : context.routeOf(request);
    this.#poll = poll === null || poll.request === null ? this.#single : context.routeOf(poll.request);
    this.#batch = batch === null ? null : context.routeOf(batch.request);
    const quotas = [operation.quota, context.provider.quota];
    // Where batches are counted apart, calls go by their quota, and what the other endpoint says of its own would mislead.
    this.#quota = batch === null || batch.quota === null ? quotaReader(quotas) : () => null;
    this.#batchQuota = quotaReader([batch?.quota ?? null, ...quotas]);
  }

  /** Lookups that one request can carry. */
  get size(): number {
    return this.operation.batch?.size ?? 1;
  }

  /** Whether a lookup alone has a request of its own. */
  get hasSingle(): boolean {
    return this.#single !== null;
  }

  /** One attempt at one lookup. Never rejects. */
  async one(lookup: LookupInput, options: LookupOptions = {}): Promise<CallResult<T> | PendingAnswer> {
    const { ticket = null } = options;
    const route = ticket === null ? this.#single : this.#poll;
    let meta = NO_META;
    try {
      if (route === null) {
        const result = await this.many([lookup], options);
        if (result.kind !== 'ok') return result;
        return result.value[0] ?? { kind: 'rejected', code: 'no_answer', detail: 'the answer leaves this lookup out', meta: result.meta };
      }
      // A request of its own asks for the promise, so that its 404 says nothing of the lookup.
      const isPoll = ticket !== null && route !== this.#single;
      const exchanged = await this.#exchange(route, ticket === null ? lookup : { ...lookup, ticket }, options, this.#quota, !isPoll);
      ({ meta } = exchanged.answer);
      const read = await this.#read(exchanged, this.operation.credits);
      ({ meta } = 'input' in read ? read.answer : read);
      if (!('input' in read)) return this.#settled(read, exchanged.keyVersion);
      const judgement = await this.#judged(read, exchanged.options, read.answer.text);
      const doubted = ticket === null ? null : this.#doubted(judgement, read, exchanged.options, { ticket, lookup });
      if (doubted !== null) return this.#settled(doubted, exchanged.keyVersion);
      const result =
        judgement.kind === 'pending'
          ? await this.#pending(read, ticket)
          : await this.#taken(ticket === null ? judgement : ofPoll(judgement, isPoll), read, lookup, read.answer.text);
      return this.#settled(result, exchanged.keyVersion);
    } catch (error) {
      return this.#refused(error, meta);
    }
  }

  /** One attempt at several lookups. Never rejects. @returns one item for each, in order; null for one that the answer leaves out */
  async many(lookups: readonly LookupInput[], options: CallOptions = {}): Promise<CallResult<readonly (CallResult<T> | null)[]>> {
    const { batch, name } = this.operation;
    let meta = NO_META;
    try {
      if (batch === null || this.#batch === null)
        throw new Refusal('no_operation', `operations.${name} has no request for several lookups`);
      const withIds = lookups.map((lookup, index) => ({ ...lookup, id: String(index) }));
      // The options of the job are the same for all, and some providers take them once for the whole request.
      const { min_likelihood, required } = lookups[0] ?? {};
      const input = { lookups: withIds, min_likelihood, required };
      const exchanged = await this.#exchange(this.#batch, input, options, this.#batchQuota, false);
      ({ meta } = exchanged.answer);
      const said = await this.#read(exchanged, batch.credits);
      ({ meta } = 'input' in said ? said.answer : said);
      if (!('input' in said)) return this.#settled(said, exchanged.keyVersion);
      const judgement = await judge(batch.answers, said, exchanged.options, this.#context.watch);
      if (judgement.kind === 'pending') throw laterBatch(name);
      if (judgement.kind !== 'match' && judgement.kind !== 'undecided') return this.#settled(judgement, exchanged.keyVersion);
      const listed = await evaluate(batch.items, said.input);
      const found = await matchItems(batch, listOf(batch.items, listed), lookups);
      const items = await this.#items(found, said, lookups, exchanged.options);
      // The request as a whole tells its credits, or they are the sum over its items.
      const credits = batch.credits === null ? items.reduce((sum, item) => sum + (item?.meta.credits ?? 0), 0) : meta.credits;
      const isByPosition = batch.itemId === null && lookups.length > 1;
      const value = items.map((item, at) => (isByPosition && isStranger(item, found.get(at), lookups[at]) ? null : item));
      return this.#settled({ kind: 'ok', value, meta: { ...meta, credits } }, exchanged.keyVersion);
    } catch (error) {
      return this.#refused(error, meta);
    }
  }

  /** @param lookup whether the service may answer that it found nothing */
  async #exchange(route: Route, input: unknown, options: CallOptions, quota: QuotaReader, lookup: boolean): Promise<Exchanged> {
    const { apiKey, redactor, watch } = this.#context;
    // Read first: a refusal of an older key only sends the lookup again.
    const keyVersion = apiKey.version;
    const request = await route.template.fill(input, options.idempotencyKey);
    watch?.asked(route.origin, request);
    const answer = await route.transport.send(request, { signal: options.signal, readQuota: quota }).catch((error: unknown) => {
      throw new Refusal('bad_request', `${route.template.call} cannot be sent: ${error instanceof Error ? error.message : String(error)}`);
    });
    watch?.answered(answer);
    const isVerify = this.operation.name === 'verify';
    return { answer, keyVersion, options: { call: route.template.call, lookup: lookup && !isVerify, redactor, clock: Date.now } };
  }

  /** @param credits null: those of the built-in header */
  async #read({ answer, options }: Exchanged, credits: Mapping | null): Promise<Said | Unsuccessful> {
    const said = readSaid(answer, options);
    return 'input' in said && credits !== null ? this.#withCredits(said, credits) : said;
  }

  /** An answer whose credits cannot be told counts as the dearest: a limit of credits must hold. */
  async #withCredits(said: Said, credits: Mapping): Promise<Said> {
    const { creditsAtMost } = this.operation;
    const told = await credits.evaluate(said.input).catch(() => creditsAtMost);
    // The answer names none: whether it costs something depends on what it is.
    if (told === undefined || told === null)
      return { ...said, answer: { ...said.answer, meta: { ...said.answer.meta, credits: 0, namesNoCredits: true } } };
    const isReadable = typeof told === 'number' && Number.isFinite(told) && told >= 0;
    const spent = isReadable ? told : creditsAtMost;
    const { namesNoCredits: _none, ...meta } = said.answer.meta;
    return { ...said, answer: { ...said.answer, meta: { ...meta, credits: spent } } };
  }

  async #taken(
    judgement: Exclude<Judgement, { kind: 'pending' }>,
    said: Said,
    lookup: LookupInput,
    text: string | null,
  ): Promise<CallResult<T>> {
    if (judgement.kind === 'miss') return this.#missed(judgement, said, text);
    if (judgement.kind !== 'match' && judgement.kind !== 'undecided') return judgement;
    const { meta } = said.answer;
    const isJudged = judgement.kind === 'match';
    try {
      const record = isJudged ? ((await mapRecord(this.operation, said.input)) ?? {}) : await undecidedRecord(this.operation, said.input);
      return record === null
        ? this.#missed({ kind: 'miss', meta }, said, text)
        : { kind: 'ok', value: this.#toValue(record, said, text, lookup), meta };
    } catch (error) {
      return this.#unfit(error, said, text, isJudged || !(error instanceof NotTaken));
    }
  }

  /** A corrected rule may find a record in an answer that is a miss today. */
  #missed(miss: Miss, { input }: Said, text: string | null): Miss {
    if (this.operation.name === 'verify' || input.body === undefined) return miss;
    const stored = storedMiss(this.operation, input, text);
    return stored === null ? miss : { ...miss, stored };
  }

  /** An answer that is paid for, and that the definition does not fit. @param isJudged only its record does not fit */
  #unfit(error: unknown, { input, answer }: Said, text: string | null, isJudged = false): Rejected {
    const refused = this.#refused(error, answer.meta);
    // Verdicts are kept as they are mapped, so that there is nothing to keep.
    const isKept = this.operation.name !== 'verify' && (isJudged || (input.status >= 200 && input.status < 300));
    return isKept ? { ...refused, stored: storedAnswer(this.operation, input, text, isJudged) } : refused;
  }

  /** Judges an answer. A rule that fails on a success leaves an answer that is paid for. */
  async #judged(said: Said, options: ClassifyOptions, text: string | null): Promise<Judgement> {
    try {
      return await judge(this.operation.answers, said, options, this.#context.watch);
    } catch (error) {
      return this.#unfit(error, said, text);
    }
  }

  async #pending({ input, answer }: Said, before: string | null): Promise<PendingAnswer | Unsuccessful> {
    const { poll } = this.operation;
    const { meta } = answer;
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
    const askedMs = retryAfter(answer, { clock: Date.now });
    return { kind: 'pending', ticket, afterMs: Math.max(poll.everyMs, askedMs ?? 0), longestMs: poll.longestMs, meta };
  }

  /** Asks once more for a promise, however old, after a 404 that may come from a gateway. Null for any other answer. */
  #doubted(
    judgement: Judgement,
    { answer }: Said,
    options: ClassifyOptions,
    { ticket, lookup }: { readonly ticket: string; readonly lookup: LookupInput },
  ): PendingAnswer | null {
    const promise = JSON.stringify([ticket, lookup]);
    const { poll } = this.operation;
    const mayBeGateway = judgement.kind === 'wrong_address' || (judgement.kind === 'miss' && judgement.form !== undefined);
    if (poll === null || !mayBeGateway || answer.status !== 404) this.#unknown.isKnown(promise);
    else if (!this.#unknown.counts(promise, formOf404(answer, options)))
      return { kind: 'pending', ticket, afterMs: ASK_AGAIN_MS, longestMs: Infinity, meta: answer.meta };
    return null;
  }

  async #items(
    found: ReadonlyMap<number, unknown>,
    whole: Said,
    lookups: readonly LookupInput[],
    options: ClassifyOptions,
  ): Promise<(CallResult<T> | null)[]> {
    const items: (CallResult<T> | null)[] = [];
    for (const [position, lookup] of lookups.entries()) {
      items.push(found.has(position) ? await this.#item(found.get(position), whole, lookup, options) : null);
      if (position % ITEMS_A_TURN === ITEMS_A_TURN - 1) await nextTurn();
    }
    return items;
  }

  async #item(body: unknown, whole: Said, lookup: LookupInput, options: ClassifyOptions): Promise<CallResult<T>> {
    const { batch, credits, name, poll } = this.operation;
    let { meta } = whole.answer;
    meta = { ...meta, credits: 0 };
    try {
      if (body === CONTRADICTION) throw new Refusal('bad_shape', `${batch?.items.key}: two items for one lookup contradict each other`);
      const itemStatus = batch?.itemStatus ?? null;
      const status = itemStatus === null ? whole.input.status : statusOf(itemStatus, await evaluate(itemStatus, body));
      meta = { ...meta, status };
      const text = body === undefined ? '' : JSON.stringify(body);
      let said: Said = { input: { ...whole.input, status, body }, answer: { ...whole.answer, status, text, meta } };
      if (credits !== null) said = await this.#withCredits(said, credits);
      ({ meta } = said.answer);
      const judgement = await this.#judged(said, { ...options, lookup: true }, text);
      if (judgement.kind === 'pending' && (poll?.ticket ?? null) !== null) throw laterBatch(name);
      if (judgement.kind === 'pending')
        return { kind: 'retryable', code: 'pending', detail: 'the answer comes later', retryAfterMs: null, meta };
      const result = await this.#taken(judgement, said, lookup, text);
      if (result.kind !== 'miss') return result;
      // The answer as a whole was no 404: it comes from the provider.
      const { form: _form, ...miss } = result;
      return miss;
    } catch (error) {
      return this.#refused(error, meta);
    }
  }

  /** Tells the key that it was accepted, or the pool which key was refused. */
  #settled<R extends CallResult<unknown> | PendingAnswer>(result: R, keyVersion: number): R {
    if (result.kind === 'denied') return result.code === 'out_of_credits' ? result : { ...result, keyVersion };
    if (['ok', 'miss', 'suppressed', 'rejected', 'pending'].includes(result.kind)) this.#context.apiKey.accepted(keyVersion);
    return result;
  }

  #refused(error: unknown, meta: CallMeta): Rejected {
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error;
    return { kind: 'rejected', code, detail: oneLine(this.#context.redactor.words(message)), meta };
  }
}

/** Whether an item is about another address than that of its lookup: it counts as left out, and the lookup is asked again alone. */
function isStranger(item: CallResult<unknown> | null, body: unknown, lookup: LookupInput = {}): boolean {
  if (item?.kind !== 'ok' || !isObject(item.value) || !isObject(item.value['record'])) return false;
  return isAboutAnother(body, item.value['record']['email'], lookup);
}

function listOf(mapping: Mapping, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  // JSONata makes the only entry of a list that it finds the value itself.
  if (typeof value === 'object' && value !== null) return [value];
  throw new Refusal('bad_shape', `${mapping.key}: expected a list, got ${inWords(value)}`);
}

function statusOf(mapping: Mapping, value: unknown): number {
  const status = typeof value === 'string' ? Number(value) : value;
  if (typeof status === 'number' && Number.isSafeInteger(status) && status >= 100 && status <= 599) return status;
  throw new Refusal('bad_shape', `${mapping.key}: expected a status from 100 to 599, got ${inWords(value, { showText: true })}`);
}

/** The meaning of an answer to a poll. A 404 was doubted before. @param hasOwnRequest whether polls are requests of their own */
function ofPoll<J extends Exclude<Judgement, { kind: 'pending' }>>(judgement: J, hasOwnRequest: boolean): J | Unsuccessful {
  if (judgement.kind === 'miss') return { kind: 'miss', meta: judgement.meta };
  if (!hasOwnRequest) return judgement;
  if (judgement.kind === 'wrong_address' && judgement.meta.status === 404)
    return { kind: 'rejected', code: TICKET_LOST, detail: judgement.detail, meta: judgement.meta };
  if (judgement.kind === 'retryable' && judgement.code === 'http_204') return { kind: 'miss', meta: judgement.meta };
  return judgement;
}
