/** Converts a file's bytes to bytes that can be framed, and those to text. Made for one pass over one file. */
export interface Codec {
  /** Source bytes to bytes for framing: unchanged, or UTF-8 made of UTF-16. */
  readonly convert: (bytes: Buffer) => Buffer;
  /** The bytes that `convert` still held at the end of the source. */
  readonly flush: () => Buffer;
  /** The number of source bytes behind a range of framed bytes. */
  readonly measure: (bytes: Buffer, from: number, to: number) => number;
  /** The text of a range of framed bytes. */
  readonly text: (bytes: Buffer, from: number, to: number) => string;
  /** Whether the encoding allows these bytes. */
  readonly valid: (bytes: Buffer) => boolean;
}
