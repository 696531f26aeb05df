/** One operation of a provider: requests for one lookup, for several, and for an answer that was promised earlier. */
import type { QuotaReader } from '../../client/answer.ts';
import type { ClassifyOptions } from '../../client/classify.ts';
import type { LookupOptions, PendingAnswer } from '../../client/provider-client.ts';
import type { Redactor } from '../../client/redactor.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import type { Transport } from '../../client/transport.ts';
import type { CallMeta, CallResult } from '../../client/types.ts';
import type { AnswerRules, CompiledProvider, Mapping, ProviderBatch, ProviderOperation, ProviderRequest } from '../compiled-provider.ts';
import { AnswerReader, type Exchanged, type ToValue } from './answer-reader.ts';
import { itemsIn, resultsOfItems } from './batch-items.ts';
import type { CallWatch } from './call-watch.ts';
import { quotaReader } from './declared-quota.ts';
import type { Judgement, Said } from './judge.ts';
import type { LookupInput } from './lookup-text.ts';
import { ofPoll, ofUnreadPoll, Promises, type Promised } from './promises.ts';
import { Refusal } from './refusal.ts';
import type { RequestTemplate } from './request-template.ts';
import { ResultPages } from './result-pages.ts';

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

/** The facts of a call that was not sent. */
const NO_META: CallMeta = { status: 0, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 0 };

/** A request, and how its answer is read. */
interface Asked {
  readonly route: Route;
  readonly input: unknown;
  readonly options: LookupOptions;
  readonly quota: QuotaReader;
  /** Whether the service may answer that it found nothing. */
  readonly mayMiss: boolean;
  readonly rules: AnswerRules;
  /** Null: those of the built-in header. */
  readonly credits: Mapping | null;
  readonly promised: Promised;
  /** A request of its own asks for the promise, so that its 404 says nothing of the lookup. */
  readonly isPoll: boolean;
}

interface Read {
  readonly said: Said;
  readonly judgement: Exclude<Judgement, { kind: 'pending' }>;
  readonly options: ClassifyOptions;
}

export class OperationClient<T> {
  readonly operation: ProviderOperation;
  readonly #context: OperationContext;
  readonly #reader: AnswerReader<T>;
  readonly #promises: Promises;
  readonly #pages = new ResultPages();
  readonly #single: Route | null;
  readonly #poll: Route | null;
  readonly #batch: Route | null;
  readonly #batchPoll: Route | null;
  readonly #quota: QuotaReader;
  readonly #batchQuota: QuotaReader;
  readonly #pollQuota: QuotaReader | null;

  constructor(operation: ProviderOperation, context: OperationContext, toValue: ToValue<T>) {
    this.operation = operation;
    this.#context = context;
    this.#reader = new AnswerReader(operation, context, toValue);
    this.#promises = new Promises(operation);
    const { request, poll, batch } = operation;
    const routeOr = (own: ProviderRequest | null | undefined, other: Route | null): Route | null =>
      own === null || own === undefined ? other : context.routeOf(own);
    this.#single = routeOr(request, null);
    this.#poll = routeOr(poll?.request, this.#single);
    this.#batch = routeOr(batch?.request, null);
    this.#batchPoll = routeOr(batch?.poll?.request, this.#batch);
    const quotas = [operation.quota, context.provider.quota];
    // Where batches are counted apart, calls go by their quota, and what the other endpoint says of its own would mislead.
    this.#quota = batch === null || batch.quota === null ? quotaReader(quotas) : () => null;
    this.#batchQuota = quotaReader([batch?.quota ?? null, ...quotas]);
    const pollQuota = batch?.poll?.quota ?? poll?.quota ?? null;
    this.#pollQuota = pollQuota === null ? null : quotaReader([pollQuota, ...quotas]);
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
    const { ticket = null, polls = 0 } = options;
    const route = ticket === null ? this.#single : this.#poll;
    if (this.#single === null || route === null) {
      const result = await this.many([lookup], options);
      if (result.kind !== 'ok') return result;
      return result.value[0] ?? { kind: 'rejected', code: 'no_answer', detail: 'the answer leaves this lookup out', meta: result.meta };
    }
    const { answers: rules, credits, poll } = this.operation;
    const isPoll = ticket !== null && route !== this.#single;
    const promised = { poll, ticket, polls, name: JSON.stringify([ticket, lookup]), batchOf: null };
    const input = ticket === null ? lookup : { ...lookup, ticket };
    const asked = { route, input, options, quota: this.#quota, mayMiss: !isPoll, rules, credits, promised, isPoll };
    return this.#ask(asked, ({ said, judgement }) => this.#reader.taken(judgement, said, lookup, said.answer.text));
  }

  /**
   * One attempt at several lookups, or at the answer that was promised to them. Never rejects.
   * @param lookups null for one that is not known here, and whose answer is passed over
   * @returns one item for each, in order; null for one that the answer leaves out
   */
  async many(
    lookups: readonly (LookupInput | null)[],
    options: LookupOptions = {},
  ): Promise<CallResult<readonly (CallResult<T> | null)[]> | PendingAnswer> {
    const { batch, name } = this.operation;
    const { ticket = null, polls = 0 } = options;
    const route = ticket === null ? this.#batch : this.#batchPoll;
    if (batch === null || route === null)
      return this.#reader.refused(new Refusal('no_operation', `operations.${name} has no request for several lookups`), NO_META);
    const promised = { poll: batch.poll ?? null, ticket, polls, name: JSON.stringify([ticket, lookups]), batchOf: name };
    const input = this.#inputOf(lookups, promised);
    const isPoll = ticket !== null && route !== this.#batch;
    const { answers: rules, credits } = batch;
    const quota = this.#batchQuota;
    const result = await this.#ask({ route, input, options, quota, mayMiss: false, rules, credits, promised, isPoll }, async (read) =>
      this.#takenTogether(batch, read, lookups, promised),
    );
    return options.isAnswered === true && credits !== null ? { ...result, meta: { ...result.meta, credits: 0 } } : result;
  }

  /** The options of the job are the same for all, and some providers take them once for the whole request. */
  #inputOf(lookups: readonly (LookupInput | null)[], { ticket, name }: Promised): LookupInput {
    const withIds = lookups.flatMap((lookup, index): LookupInput[] => (lookup === null ? [] : [{ ...lookup, id: String(index) }]));
    const { min_likelihood, required } = withIds[0] ?? {};
    const next = ticket === null ? null : this.#pages.next(name);
    return { lookups: withIds, min_likelihood, required, ...(ticket === null ? {} : { ticket }), ...(next === null ? {} : { next }) };
  }

  async #takenTogether(
    batch: ProviderBatch,
    { said, judgement, options }: Read,
    lookups: readonly (LookupInput | null)[],
    promised: Promised,
  ): Promise<CallResult<readonly (CallResult<T> | null)[]> | PendingAnswer> {
    if (judgement.kind !== 'match' && judgement.kind !== 'undecided') return judgement;
    const listed = await itemsIn(batch.items, said);
    const items = promised.poll === null ? listed : await this.#pages.add(promised.name, promised.poll, said, listed, performance.now());
    if (items === null)
      return this.#promises.nextPage(said, promised, this.#pages.isLate(promised.name, performance.now(), promised.poll?.longestMs));
    const { results, credits, namesAll } = await resultsOfItems(this.#reader, { batch, said, options, items }, lookups);
    if (results.includes('later')) return this.#promises.pending(said, promised);
    // The request as a whole tells its credits, or they are the sum over its items.
    const { meta } = said.answer;
    const value = results as readonly (CallResult<T> | null)[];
    if (batch.credits !== null) return { kind: 'ok', value, meta };
    const { namesNoCredits, ...named } = meta;
    return { kind: 'ok', value, meta: { ...named, credits, ...(namesAll || namesNoCredits === undefined ? {} : { namesNoCredits }) } };
  }

  /** One attempt. Never rejects. @param take makes the result of an answer that is there */
  async #ask<R>(asked: Asked, take: (read: Read) => Promise<CallResult<R> | PendingAnswer>): Promise<CallResult<R> | PendingAnswer> {
    const { promised, isPoll } = asked;
    const { ticket } = promised;
    let meta = NO_META;
    this.#promises.asks(promised);
    try {
      const exchanged = await this.#exchange(asked);
      const { keyVersion, options } = exchanged;
      ({ meta } = exchanged.answer);
      const said = await this.#reader.read(exchanged, asked.credits);
      ({ meta } = 'input' in said ? said.answer : said);
      if (!('input' in said)) return this.#settled(ticket === null ? said : ofUnreadPoll(said), keyVersion);
      const judgement = await this.#reader.judged(said, options, asked.rules);
      const again = this.#promises.goesOn(judgement, said.answer, options, promised, isPoll);
      const unclear = again ?? this.#promises.ofAnother(promised, said.answer);
      if (unclear !== null) return this.#settled(unclear, keyVersion);
      const result =
        judgement.kind === 'pending'
          ? await this.#promises.pending(said, promised)
          : await take({ said, options, judgement: ticket === null ? judgement : ofPoll(judgement, isPoll) });
      return this.#settled(result, keyVersion);
    } catch (error) {
      return this.#reader.refused(error, meta);
    }
  }

  async #exchange({ route, input, options, quota, mayMiss, promised }: Asked): Promise<Exchanged & { readonly keyVersion: number }> {
    const { apiKey, redactor, watch } = this.#context;
    // Read first: a refusal of an older key only sends the lookup again.
    const keyVersion = apiKey.version;
    const request = await route.template.fill(input, options.idempotencyKey);
    watch?.asked(route.origin, request);
    const readQuota = promised.ticket === null ? quota : (this.#pollQuota ?? quota);
    const answer = await route.transport.send(request, { signal: options.signal, readQuota }).catch((error: unknown) => {
      throw new Refusal('bad_request', `${route.template.call} cannot be sent: ${error instanceof Error ? error.message : String(error)}`);
    });
    watch?.answered(answer);
    const isVerify = this.operation.name === 'verify';
    return { answer, keyVersion, options: { call: route.template.call, lookup: mayMiss && !isVerify, redactor, clock: Date.now } };
  }

  /** Tells the key that it was accepted, or the pool which key was refused. */
  #settled<R extends CallResult<unknown> | PendingAnswer>(result: R, keyVersion: number): R {
    if (result.kind === 'denied') return result.code === 'out_of_credits' ? result : { ...result, keyVersion };
    if (['ok', 'miss', 'suppressed', 'rejected', 'pending'].includes(result.kind)) this.#context.apiKey.accepted(keyVersion);
    return result;
  }
}
