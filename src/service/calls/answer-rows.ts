/**
 * Stores first answers under an Idempotency-Key. Answers of one transaction are compressed together into blocks, because records resemble
 * each other.
 * The position of a block counts the bytes of all blocks up to its end. So the size of all answers is the distance between the first block
 * and the last.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { bytesIn, TextCollector, type TextSpan } from '../store/rows/text-blobs.ts';
import type { Named } from '../store/identity/named-people.ts';
import type { Store } from '../store/store.ts';

/** A block is closed at this many bytes of text, because a replay decompresses all of it. */
const BLOCK_BYTES = 256 * 1024;
/** Bound of all compressed answers: those of a key with 5,000 requests a minute for 24 hours, and a third more. */
const MAX_ANSWERS_BYTES = 16 * 1024 ** 3;

/** The first answer to a request; a replay repeats it byte for byte. */
export interface FirstAnswer {
  readonly status: number;
  /** Headers of the answer with names in lower case, Content-Type included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly named: Named;
}

/** Why there is no text. `dropped`: it was too long, or had to make room. `erased`: it named an erased person. */
export type Without = 'dropped' | 'erased';

export interface NewAnswer {
  readonly scope: Uint8Array;
  /** The digest of the request. */
  readonly request: Uint8Array;
  /** When the request came, epoch milliseconds. */
  readonly atMs: number;
  readonly answer: FirstAnswer | Without;
  /** The encrypted part of the text; null without one. */
  readonly sealed: string | null;
}

export class AnswerRows {
  readonly #maxBytes: number;
  readonly #texts = new TextCollector();
  readonly #statements;

  /** @param maxBytes bound of all blocks; beyond it the oldest are dropped */
  constructor(store: Store, maxBytes: number = MAX_ANSWERS_BYTES) {
    this.#maxBytes = maxBytes;
    this.#statements = {
      find: store.books.prepare(
        'SELECT request, at, status, headers, named, sealed, block, text_from, text_to FROM answers WHERE scope = ? AND at > ?',
      ),
      block: store.books.prepare('SELECT texts FROM answer_blocks WHERE position = ?'),
      insert: store.books.prepare(
        'INSERT OR REPLACE INTO answers (scope, request, at, status, headers, named, ' +
          'sealed, block, text_from, text_to) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ),
      insertBlock: store.books.prepare('INSERT INTO answer_blocks (position, at, texts) VALUES (?, ?, ?)'),
      // AUTOINCREMENT's highest position: a deleted block's position is never used again.
      last: store.books.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'answer_blocks'"),
      purge: store.books.prepare('DELETE FROM answers WHERE seq IN (SELECT seq FROM answers WHERE at <= ? LIMIT ?)'),
      purgeBlocks: store.books.prepare(
        'DELETE FROM answer_blocks WHERE position IN (SELECT position FROM answer_blocks ' +
          'ORDER BY position LIMIT ?3) AND (at <= ?1 OR position - length(texts) < ?2)',
      ),
    };
  }

  /** The answer under a key, unless it is from before `sinceMs`. @throws the error of a damaged block */
  find(scope: Uint8Array, sinceMs: number): NewAnswer | null {
    const row = this.#statements.find.get(scope, sinceMs);
    if (row === undefined) return null;
    const { request, at, status, sealed } = row as { request: Uint8Array; at: number; status: number; sealed: string | null };
    return { scope, request, atMs: at, sealed, answer: this.#answerOf(row) ?? (status === ERASED_STATUS ? 'erased' : 'dropped') };
  }

  has(scope: Uint8Array, sinceMs: number): boolean {
    return this.#statements.find.get(scope, sinceMs) !== undefined;
  }

  /** Adds answers, within a transaction. */
  put(answers: readonly NewAnswer[]): void {
    // Texts left over from a failed transaction.
    this.#texts.take();
    let open: { readonly added: NewAnswer; readonly span: TextSpan | null }[] = [];
    for (const added of answers) {
      const span = typeof added.answer === 'string' ? null : this.#texts.add(added.answer.text);
      open.push({ added, span });
      if (span === null || span.textTo < BLOCK_BYTES) continue;
      this.#putBlock(open);
      open = [];
    }
    this.#putBlock(open);
  }

  /** Removes answers from `upToMs` or before, and blocks beyond the bound. @param most rows, and blocks */
  purge(upToMs: number, most: number): void {
    this.#statements.purge.run(upToMs, most);
    this.#statements.purgeBlocks.run(upToMs, this.#last() - this.#maxBytes, most);
  }

  #putBlock(answers: readonly { readonly added: NewAnswer; readonly span: TextSpan | null }[]): void {
    const texts = this.#texts.take();
    const compressed = texts.length === 0 ? null : zstdCompressSync(texts);
    const position = compressed === null ? null : this.#last() + compressed.length;
    if (compressed !== null) this.#statements.insertBlock.run(position, Math.max(...answers.map(({ added }) => added.atMs)), compressed);
    for (const {
      added: { scope, request, atMs, answer, sealed },
      span,
    } of answers) {
      if (typeof answer === 'string' || span === null)
        this.#statements.insert.run(scope, request, atMs, answer === 'erased' ? ERASED_STATUS : 0, null, null, null, null, null, null);
      else
        this.#statements.insert.run(
          scope,
          request,
          atMs,
          answer.status,
          jsonOf(answer.headers),
          jsonOf(answer.named),
          sealed,
          position,
          span.textFrom,
          span.textTo,
        );
    }
  }

  #last(): number {
    return Number(this.#statements.last.get()?.['seq'] ?? 0);
  }

  #answerOf(row: Readonly<Record<string, unknown>>): FirstAnswer | null {
    const block = row['block'] === null ? undefined : this.#statements.block.get(row['block'] as number);
    return block === undefined ? null : answerIn(textsOf(block), row);
  }
}

/** The status of a row whose text was erased. */
export const ERASED_STATUS = 451;

/** The decompressed texts of a block. @throws the error of a damaged block */
export function textsOf(block: Readonly<Record<string, unknown>>): Uint8Array<ArrayBuffer> {
  const bytes = zstdDecompressSync(block['texts'] as Uint8Array);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The answer of a row, with its text from these. */
export function answerIn(texts: Uint8Array<ArrayBuffer>, row: Readonly<Record<string, unknown>>): FirstAnswer {
  return {
    status: row['status'] as number,
    headers: (readJson(row['headers']) ?? {}) as FirstAnswer['headers'],
    named: readJson(row['named']) ?? {},
    text: Buffer.from(bytesIn(texts, { textFrom: row['text_from'] as number, textTo: row['text_to'] as number })).toString('utf8'),
  };
}

/** An object as JSON; null if it is empty. */
function jsonOf(value: object): string | null {
  const json = JSON.stringify(value);
  return json === '{}' ? null : json;
}

function readJson(json: unknown): unknown {
  return json === null ? null : JSON.parse(json as string);
}
