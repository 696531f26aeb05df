/** What the splitter is told and what it tells. Types only. */

/**
 * plain: no quote in it. quoted: its quotes are as RFC 4180 wants them. dirty: some are not, but its end is certain.
 * unclosed: one physical line, with a quote that does not close (within 1 MiB, or before text that cannot follow a closing quote). overlong: too long to hold; only its head is here, of which the last cell may be cut.
 */
export type RecordKind = 'plain' | 'quoted' | 'dirty' | 'unclosed' | 'overlong';

export interface SplitterOptions {
  /** The delimiter's byte; null for formats without quoting (then only LF ends a line). */
  readonly delimiter: number | null;
  /** How many bytes of the source these bytes were: the same number unless the encoding was changed on the way in. */
  readonly measure: (bytes: Buffer, from: number, to: number) => number;
  /** Where the first byte stands in the source, and on which physical line (from 1). */
  readonly offset: number;
  readonly line: number;
  /** Bytes; for tests, which cannot try every place of a bound of megabytes. */
  readonly limits?: { readonly quoted: number; readonly record: number };
}
