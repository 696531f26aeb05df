/** The runner of the conformance suite for Node: scenarios on standard input, a line of JSON for each on standard output. */
import { existsSync, readFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { fileLines } from '../../src/client/library/lines.ts';
import { DataServiceClient, verifyWebhook, type Client, type DataServiceError } from '../../src/index.ts';
import type * as Built from './index.ts';
import type { Report, Task } from '../conformance/scenario.ts';

type Args = Readonly<Record<string, unknown>>;
type Outcome = Readonly<Record<string, unknown>>;

/** The built package `@millrace/client`, for its variant. */
const built = (await import(pathToFileURL(process.env['MILLRACE_CLIENT'] ?? '').href)) as typeof Built;

const AT_ONCE = 16;
/** Parameters that stand before the others. */
const POSITIONAL: Readonly<Record<string, readonly string[]>> = {
  verify: ['email'],
  verify_batch: ['emails'],
  start_verification: ['emails'],
  enrich_bulk: ['requests'],
  company: ['domain'],
  graphql: ['query', 'variables'],
};
const OPTION_NAMES: Readonly<Record<string, string>> = { timeout: 'timeoutMs', retry_delay: 'retryDelayMs' };

async function main(): Promise<void> {
  const { scenarios } = (await json(process.stdin)) as { readonly scenarios: readonly Task[] };
  for (const task of scenarios.filter(({ alone }) => alone)) {
    const before = memory('VmRSS');
    const outcomes = await run(task);
    const peak = memory('VmHWM');
    print({ name: task.name, variant: task.variant, outcomes, memory_mib: before === null || peak === null ? null : peak - before });
  }
  const rest = scenarios.filter(({ alone }) => !alone).values();
  const worker = async (): Promise<void> => {
    for (const task of rest) print({ name: task.name, variant: task.variant, outcomes: await run(task), memory_mib: null });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function run(task: Task): Promise<Outcome[]> {
  const options = { baseUrl: task.base_url, apiKey: task.api_key, ...withMs(task.options) };
  const isBuilt = task.variant === '@millrace/client';
  const client: Client = isBuilt ? new built.Client(options) : new DataServiceClient(options);
  const outcomes: Outcome[] = [];
  for (const { call, args = {}, repeat = 1, with: settings } of task.steps) {
    let outcome: Outcome = {};
    const one = settings === undefined ? client : client.withOptions(withMs(settings));
    for (let i = 0; i < repeat && outcome['error'] === undefined; i++)
      outcome = await outcomeOf(one, call, resolve(args, outcomes) as Args);
    outcomes.push({ ...outcome, last_response: snakeCase(one.lastResponse) });
  }
  await client.destroy();
  return outcomes;
}

async function outcomeOf(client: Client, name: string, args: Args): Promise<Outcome> {
  try {
    return { result: (await callOf(client, name, args)) ?? null };
  } catch (error) {
    if (name === 'verify_webhook' && error instanceof TypeError) return { error: { code: 'configuration', message: error.message } };
    // Each of the two packages has classes of its own.
    const { name: kind } = error as Error;
    if (kind === 'WebhookSignatureError') return { error: { code: 'signature', message: (error as Error).message } };
    if (kind !== 'DataServiceError') throw error;
    const { message, code, status, requestId, retryable, retryAfterMs, errors, attempts } = error as DataServiceError;
    const retryAfter = retryAfterMs === null ? null : retryAfterMs / 1000;
    return { error: { message, code, status, request_id: requestId, retryable, retry_after: retryAfter, errors, attempts } };
  }
}

async function callOf(client: Client, name: string, { take, ...args }: Args): Promise<unknown> {
  const most = typeof take === 'number' ? take : Infinity;
  switch (name) {
    case 'describe':
      return textsOf(client);
    case 'webhooks.create.describe':
      return textsOf(await client.webhooks.create(args));
    case 'verify_webhook':
      return await (client instanceof DataServiceClient ? verifyWebhook : built.verifyWebhook)(
        args['body'] as string,
        args['headers'] as Record<string, string>,
        args['secrets'] as string | string[],
      );
    case 'at_once': {
      const calls = Array.from({ length: Number(args['count']) }, () => method(client, String(args['call']), args['args'] as Args));
      return [...new Set((await Promise.all(calls)).map((found) => (found as { readonly name: string }).name))];
    }
    case 'csv_records':
      return await recordLengths(args['texts'] as readonly string[]);
    case 'cancelled': {
      const stop = new AbortController();
      const pending = method(client, String(args['call']), args['args'] as Args, stop.signal);
      await Promise.race([pending, sleep(Number(args['after']) * 1000).then(() => stop.abort())]);
      return await pending;
    }
    case 'batches.create_big': {
      const { lines, operation } = args;
      return await client.batches.create({ operation: String(operation), lines: bigLines(Number(lines)) });
    }
    case 'batches.count_results': {
      let [count, last] = [0, 0];
      for await (const { line } of client.batches.results(String(args['id']))) [count, last] = [count + 1, line];
      return { count, last };
    }
    case 'search_contacts.pages': {
      const pages = await collect(client.searchContacts(args).pages(), most);
      return pages.map(({ data, total, nextCursor }) => ({ count: data.length, total, next_cursor: nextCursor }));
    }
    case 'stream_signals': {
      const { last_event_id: lastEventId, ...filters } = args;
      const stream = client.streamSignals(filters, typeof lastEventId === 'string' ? { lastEventId } : {});
      const items = await collect(stream, most);
      return { items, last_event_id: stream.lastEventId };
    }
    default: {
      const found = method(client, name, args);
      return typeof found === 'object' && found !== null && Symbol.asyncIterator in found
        ? await collect(found as AsyncIterable<unknown>, most)
        : withoutToJson(await found);
    }
  }
}

/** The forms that people print. */
function textsOf(value: unknown): string {
  return `${inspect(value, { depth: 9, showHidden: true })} ${JSON.stringify(value)}`;
}

/** A webhook with its secret, which `JSON.stringify` masks. */
function withoutToJson(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'toJSON' in value ? { ...value } : value;
}

async function recordLengths(texts: readonly string[]): Promise<number[][]> {
  const found: number[][] = [];
  for (const text of texts) {
    const records = await collect(fileLines(Readable.from([Buffer.from(text)]), true), Infinity);
    const contents = records.map((record) =>
      Buffer.from(record)
        .toString()
        .replace(/\r?\n$/, ''),
    );
    found.push(contents.filter((content) => !/^[ \t]*$/.test(content)).map((content) => Buffer.byteLength(content)));
  }
  return found;
}

/** Calls the method that the operation's name stands for. */
function method(client: Client, name: string, { idempotency_key: idempotencyKey, ...args }: Args, signal?: AbortSignal): unknown {
  const path = name.split('.').map((part) => part.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  const owner = (path.length === 2 ? client[path[0] as 'webhooks' | 'batches'] : client) as unknown as Record<
    string,
    (...all: unknown[]) => unknown
  >;
  const first = POSITIONAL[name] ?? (/^(webhooks|batches)\.|verification$/.test(name) ? ['id', 'delivery', 'number', 'content'] : []);
  const positional = first.filter((one) => one in args).map((one) => args[one]);
  const {
    timeout,
    operation_name: operationName,
    ...rest
  } = Object.fromEntries(Object.entries(args).filter(([one]) => !first.includes(one)));
  const options = {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(signal === undefined ? {} : { signal }),
    ...(timeout === undefined ? {} : { timeoutMs: Number(timeout) * 1000 }),
    ...(operationName === undefined ? {} : { operationName }),
  };
  const takesParams =
    !(name in POSITIONAL) && !['wait', 'get', 'delete'].includes(name.split('.').at(-1) ?? '') && !name.endsWith('verification');
  const hasParams = takesParams && (positional.length === 0 || Object.keys(rest).length > 0);
  if (/^verify|^start_/.test(name)) return owner[path.at(-1) ?? '']?.(...positional, { ...rest, ...options });
  return owner[path.at(-1) ?? '']?.(...positional, ...(hasParams ? [rest] : []), ...(Object.keys(options).length > 0 ? [options] : []));
}

async function collect<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length >= most) break;
  }
  return taken;
}

function* bigLines(count: number): Generator<object> {
  for (let i = 0; i < count; i++) yield { custom_id: String(i).padStart(200, '0'), email: `person${i}@nobody.example` };
}

/** `$0.id` is the id in the result of the first step. */
function resolve(value: unknown, outcomes: readonly Outcome[]): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, outcomes));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolve(one, outcomes)]));
  }
  if (typeof value !== 'string' || !/^\$\d/.test(value)) return value;
  const [step = '', ...path] = value.slice(1).split('.');
  return path.reduce<unknown>((found, part) => (found as Record<string, unknown>)[part], outcomes[Number(step)]?.['result']);
}

function withMs(options: Args): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) =>
      name in OPTION_NAMES
        ? [OPTION_NAMES[name], Number(value) * 1000]
        : [name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value],
    ),
  );
}

function snakeCase(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), snakeCase(one)]),
  );
}

/** A line of /proc/self/status in MiB; null where there is no such file. */
function memory(field: string): number | null {
  if (!existsSync('/proc/self/status')) return null;
  const line = readFileSync('/proc/self/status', 'utf8').match(new RegExp(`^${field}:\\s+(\\d+)`, 'm'));
  return Number(line?.[1]) / 1024;
}

function print(report: Report): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

await main();
