/** One call of an operation, watched: what is asked, what comes back, and how it is judged. */
import { Redactor } from '../../client/redactor.ts';
import { RotatingKey } from '../../client/rotating-key.ts';
import type { Answer } from '../../client/answer.ts';
import type { TransportRequest, Wire } from '../../client/transport.ts';
import type { CallMeta } from '../../client/types.ts';
import type { CallWatch } from '../client/call-watch.ts';
import { lookupInput, lookupText, type LookupInput } from '../client/lookup-text.ts';
import { openOperations } from '../client/operations.ts';
import type { OperationClient } from '../client/operation-client.ts';
import type { CompiledProvider, OperationName } from '../compiled-provider.ts';
import type { Lookup } from './answers-file.ts';
import type { CallReport, ShownAnswer, ShownRequest } from './call-report.ts';
import { judged, windowsOf, type Decision, type Result } from './judged.ts';
import { onlyKeyOf } from '../../steps/registry.ts';
import { present } from '../../util/assert.ts';
import { isObject } from '../../util/is-object.ts';
import { parseJson } from '../../util/parse-json.ts';

/** In place of an API key. */
const MASK = '***';

export interface Access {
  readonly provider: CompiledProvider;
  readonly baseUrl: string;
  /** Null where the definition sends none. */
  readonly apiKey: string | null;
  /** In place of the network. */
  readonly wire?: Wire;
  readonly maxResponseBytes?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Question {
  readonly name: string;
  readonly operation: OperationName;
  readonly lookups: readonly Lookup[];
  /** As one request for several, also for one lookup alone. */
  readonly together: boolean;
  /** Asks for an answer that was promised. */
  readonly ticket: string | null;
}

/** Makes one call. @throws ConfigError for an address or a certificate that cannot work */
export async function ask(access: Access, question: Question): Promise<CallReport> {
  const redactor = new Redactor(null, MASK);
  const seen = new Seen(redactor);
  const { provider, baseUrl, wire, maxResponseBytes } = access;
  const operations = openOperations({
    provider,
    baseUrl,
    isReplaced: baseUrl !== provider.baseUrl,
    apiKey: new RotatingKey(access.apiKey),
    timeoutMs: access.timeoutMs ?? provider.timeoutMs,
    connections: 1,
    redactor,
    watch: seen,
    ...(wire === undefined ? {} : { wire }),
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
  });
  try {
    const { operation } = question;
    const client = present(operation === 'verify' ? operations.verify : operations.records[operation], `the definition has ${operation}`);
    const results = await resultsOf(client, question, access.signal);
    return seen.report(question, client, results);
  } finally {
    await Promise.all(operations.transports.map((transport) => transport.destroy()));
  }
}

/** One for each lookup; or one for the request as a whole, where it has no answer. */
async function resultsOf(
  client: OperationClient<unknown>,
  { operation, lookups, together, ticket }: Question,
  signal: AbortSignal | undefined,
): Promise<readonly (Result | null)[]> {
  const inputs = lookups.map((lookup) => inputOf(operation, lookup));
  const options = signal === undefined ? { ticket } : { signal, ticket };
  const [first = {}] = inputs;
  if (!together && client.hasSingle) return [await client.one(first, options)];
  const result = await client.many(inputs, options);
  return result.kind === 'ok' ? result.value : [result];
}

/** The input that a run gives to the mappings of a request. */
function inputOf(operation: OperationName, { first_name: first, last_name: last, ...others }: Lookup): LookupInput {
  const parts = [first, last].filter((part) => part !== undefined);
  const named = parts.length > 0 && others.name === undefined ? { ...others, name: parts.join(' ') } : others;
  const keys = named as { readonly email: string };
  return onlyKeyOf(operation) === null ? lookupInput(lookupText(keys, null)) : keys;
}

/** Notes what passes by. */
class Seen implements CallWatch {
  readonly #redactor: Redactor;
  readonly #decisions: Decision[] = [];
  #request: ShownRequest | null = null;
  #answer: Answer | null = null;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  asked(origin: string, { method, path, headers, body }: TransportRequest): void {
    const pairs = headers.flatMap((name, index) =>
      index % 2 === 0 ? [[name, this.#redactor.words(headers[index + 1] ?? '')] as const] : [],
    );
    this.#request = {
      method,
      url: this.#redactor.words(origin + path),
      headers: Object.fromEntries(pairs),
      body: typeof body === 'string' ? this.#shown(body) : null,
    };
  }

  answered(answer: Answer): void {
    this.#answer = answer;
  }

  judged(...[rules, rule]: Parameters<CallWatch['judged']>): void {
    this.#decisions.push({ rule, key: rule === null ? null : (rules[rule]?.key ?? null) });
  }

  report(
    { name, operation, lookups }: Question,
    { operation: declared }: OperationClient<unknown>,
    results: readonly (Result | null)[],
  ): CallReport {
    const meta = this.#answer?.meta ?? null;
    const hasRequest = this.#request !== null;
    const isWhole = results.length === 1 && lookups.length !== 1;
    // The first decision about a request for several is about the answer as a whole; each of its entries has one more.
    const ofItems = this.#decisions.slice(this.#decisions.length > 1 ? 1 : 0);
    let next = 0;
    const decisionFor = (result: Result | null): Decision | null => {
      const itemStatus = declared.batch?.itemStatus?.key;
      const wasJudged = result !== null && !(itemStatus !== undefined && 'detail' in result && result.detail.includes(itemStatus));
      return wasJudged ? (ofItems[next++] ?? null) : null;
    };
    const found = isWhole
      ? lookups.map((lookup) => judged(declared, lookup, results[0] ?? null, this.#decisions[0] ?? null, hasRequest))
      : results.map((result, index) => judged(declared, lookups[index] ?? {}, result, decisionFor(result), hasRequest));
    return {
      name,
      operation,
      request: this.#request,
      answer: this.#answer === null ? null : this.#shownAnswer(this.#answer),
      judged: this.#masked(found),
      credits: isWhole ? (results[0]?.meta.credits ?? 0) : found.reduce((sum, { credits }) => sum + credits, 0),
      quota: windowsOf(meta?.quota ?? null),
      differences: [],
    };
  }

  #shownAnswer({ status, text, meta }: Answer): ShownAnswer {
    return { status, headers: this.#headers(meta), body: text === '' ? null : this.#shown(text) };
  }

  #headers({ headers }: CallMeta): ShownAnswer['headers'] {
    return this.#masked(
      Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    );
  }

  /** A body, as JSON where it is some. A key that is too short to be masked in data is masked here: this is for people. */
  #shown(text: string): unknown {
    const plain = this.#redactor.words(this.#redactor.data(text));
    return parseJson(plain, plain);
  }

  #masked<T>(value: T): T {
    return this.#maskedValue(value) as T;
  }

  #maskedValue(value: unknown): unknown {
    if (typeof value === 'string') return this.#redactor.words(value);
    if (Array.isArray(value)) return value.map((one: unknown) => this.#maskedValue(one));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.#redactor.words(name), this.#maskedValue(one)]));
  }
}
