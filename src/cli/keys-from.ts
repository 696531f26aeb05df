/** The keys of `enrich`, `verify` and `suppress`: arguments, or with `-` one a line from standard input. */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { InputError, UsageError } from '../util/errors.ts';
import type { GivenKey } from '../job/commands/one-off.ts';

/** No key is longer than this. Longer input without a line end is not a list. */
const MAX_LINE_BYTES = 64 * 1024;
const LINE_END = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';
/** The character that Node puts for bytes of an argument that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * The keys in order. A key that is not UTF-8 has no text. Iterating throws InputError for a line without end.
 * @throws UsageError when no key is given, or `-` beside other keys
 */
export function keysFrom(given: readonly string[], what: string, stdin: Readable): AsyncGenerator<GivenKey> {
  if (given.length === 0)
    throw new UsageError('no_key', `Nothing to do: give at least one ${what}, or - to read them from standard input, one a line`);
  if (!given.includes('-')) return fromArguments(given);
  if (given.length > 1) throw new UsageError('extra_argument', '- stands alone: standard input, or arguments');
  return fromLines(stdin);
}

/** The same keys, at most `size()` at a time; fewer when no key came for `idleMs` milliseconds. */
export async function* inBatches(keys: AsyncIterator<GivenKey>, size: () => number, idleMs = Infinity): AsyncGenerator<GivenKey[]> {
  let batch: GivenKey[] = [];
  for (let next = keys.next(); ;) {
    const came = batch.length === 0 || idleMs === Infinity ? await next : await withinMs(next, idleMs);
    if (came?.done === true) break;
    if (came !== null) {
      batch.push(came.value);
      next = keys.next();
      if (batch.length < size()) continue;
    }
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** The result of `work`, or null when it takes longer. */
async function withinMs<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function* fromArguments(given: readonly string[]): AsyncGenerator<GivenKey> {
  for (const [index, text] of given.entries()) yield { place: index + 1, text: text.includes(REPLACEMENT) ? null : text };
}

async function* fromLines(stdin: Readable): AsyncGenerator<GivenKey> {
  let place = 0;
  for await (const line of lines(stdin)) {
    place++;
    if (!isUtf8(line)) {
      yield { place, text: null };
      continue;
    }
    const text = line.toString('utf8');
    const key = (place === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text).trim();
    // No key has a NUL; UTF-16 without a byte order mark is full of them.
    if (key !== '') yield { place, text: key.includes('\0') ? null : key };
  }
}

async function* lines(stdin: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = rest.indexOf(LINE_END); end !== -1; end = rest.indexOf(LINE_END, from)) {
      yield rest.subarray(from, end);
      from = end + 1;
    }
    rest = rest.subarray(from);
    if (rest.length > MAX_LINE_BYTES)
      throw new InputError('line_too_long', `standard input has a line of more than ${MAX_LINE_BYTES} bytes`, { hint: 'Give one a line.' });
  }
  yield rest;
}
