/** What one-off commands are given to look up: arguments, or with `-` one a line from standard input. */
import type { Readable } from 'node:stream';
import { InputError, UsageError } from '../errors.ts';

/** No key is longer; what has no line ends is no list. */
const MAX_LINE_LENGTH = 64 * 1024;

/** Keys in batches of at most `size`, in order. @throws UsageError when there is none, or `-` stands beside others; InputError for a line without end. */
export async function* keysFrom(given: readonly string[], what: string, stdin: Readable, size: number): AsyncGenerator<string[]> {
  if (given.length === 0) throw new UsageError('no_key', `Nothing to do: give at least one ${what}, or - to read them from standard input, one a line`);
  if (!given.includes('-')) {
    for (let from = 0; from < given.length; from += size) yield given.slice(from, from + size);
    return;
  }
  if (given.length > 1) throw new UsageError('extra_argument', '- stands alone: standard input, or arguments');
  let batch: string[] = [];
  for await (const line of lines(stdin)) {
    if (line === '') continue;
    batch.push(line);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* lines(stdin: Readable): AsyncGenerator<string> {
  let rest = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH) throw new InputError('line_too_long', `standard input has a line of more than ${MAX_LINE_LENGTH} characters`, { hint: 'Give one a line.' });
    for (const line of parts) yield line.trim();
  }
  yield rest.trim();
}
