/** The options of the splitter and the kinds of records it finds. Types only. */

/**
 * Kinds of records:
 * - plain: has no quote.
 * - quoted: its quotes follow RFC 4180.
 * - dirty: some quotes do not, but its end is certain.
 * - unclosed: one physical line whose quotes are out of order.
 * - overlong: longer than a record may be. Only its head is in memory, and the head's last cell may be cut.
 */
export type RecordKind = 'plain' | 'quoted' | 'dirty' | 'unclosed' | 'overlong';

export interface SplitterOptions {
  /** The delimiter's byte; null for formats without quoting, in which only LF and CRLF end a line. */
  readonly delimiter: number | null;
  /**
   * False (the default) is for files: a lone CR ends a line, spaces may follow a closing quote, and other text after it is tolerated within
   * one line. True is for data of programs: only LF and CRLF end a line, and lines of spaces and tabs are blank. A record with text after a
   * closing quote, or of several lines with more than `limits.record` bytes, ends with its first line.
   */
  readonly strict?: boolean;
  /**
   * The number of columns. A CR without LF is text, and ends no line, where the line up to the next LF has this number of fields and no
   * quote. Default 0: it always ends a line.
   */
  readonly columns?: number;
  /** The number of source bytes of a range: the same number unless the encoding was converted. */
  readonly measure: (bytes: Buffer, from: number, to: number) => number;
  /** The source offset and the physical line (from 1) of the first byte. */
  readonly offset: number;
  readonly line: number;
  /** Bytes: how far an open quote is followed, and the longest record. Default 1 MiB and 4 MiB. */
  readonly limits?: { readonly quoted: number; readonly record: number };
}
