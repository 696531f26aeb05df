/** Reads the list of people who are never asked about, from a file or S3. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { digestOfLine, SuppressedPeople } from '../../processor/suppressed-people.ts';
import { sourceOf } from '../../sources/source-of.ts';
import { InputError, StorageError } from '../../util/errors.ts';

const CHUNK_BYTES = 65_536;
/** People in a list: 80 MB of digests. */
const MOST = 10_000_000;
const MOST_BYTES = 2 ** 30;

/**
 * Null for a job without a list.
 * @throws InputError 65 for a list that is missing, too large, or that has lines which are neither address nor digest; StorageError 74
 */
export async function loadSuppressed(uri: string | null, signal: AbortSignal): Promise<SuppressedPeople | null> {
  if (uri === null) return null;
  const digests: bigint[] = [];
  let number = 0;
  for await (const line of linesOf(uri, signal)) {
    number++;
    const text = line.replace(/^\ufeff/, '').trim();
    if (text === '' || text.startsWith('#')) continue;
    const digest = digestOfLine(text);
    if (digest !== null) digests.push(digest);
    // The first line may be a header.
    else if (number > 1)
      throw refused(uri, `line ${number} is neither an address nor a SHA-256 digest`, 'Write one on each line. A line with # is a remark.');
    if (digests.length > MOST) throw refused(uri, `it has more than ${MOST.toLocaleString('en-US')} people`, 'Divide it among jobs.');
  }
  return new SuppressedPeople(digests);
}

async function* linesOf(uri: string, signal: AbortSignal): AsyncGenerator<string> {
  try {
    const source = await sourceOf(uri);
    const file = { uri, path: uri };
    const { size, digest } = await source.identify(file, { signal });
    if (size > MOST_BYTES) throw refused(uri, 'it is larger than 1 GiB', 'Keep one address or digest on each line, and nothing else.');
    const bytes = source.readRange({ ...file, digest }, { start: 0, end: size }, { chunkBytes: CHUNK_BYTES, signal });
    yield* createInterface({ input: Readable.from(bytes, { objectMode: false }), crlfDelay: Infinity });
  } catch (error) {
    // Without its list a job would ask about people whom nobody may ask about, so it does not begin.
    if (error instanceof InputError && error.code !== 'suppress_list')
      throw refused(uri, error.message, 'Correct suppress, or leave it out. Nothing was asked.', error);
    if (error instanceof StorageError && error.code === 'input_read_failed')
      throw new StorageError('suppress_list', `The list of suppressed people ${uri} could not be read: ${error.message}`, { cause: error });
    throw error;
  }
}

function refused(uri: string, problem: string, hint: string, cause?: unknown): InputError {
  return new InputError('suppress_list', `The list of suppressed people ${uri} cannot be used: ${problem}`, { hint, cause });
}
