/** The kind of a YAML or JSON file, for the messages about it. Types only. */

export interface DocumentKind {
  /** Without an article: `job file`. */
  readonly noun: string;
  /** The one thing that it holds: `job`. */
  readonly content: string;
  /** The codes of its errors. */
  readonly codes: { readonly syntax: string; readonly unreadable: string; readonly tooLarge: string };
  /** A value that needs quotes, for a hint: `"*.csv"`. */
  readonly quoted: string;
  /** Bytes at most. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Brackets in brackets at most. Default: 64. */
  readonly maxDepth?: number;
  /** The value that a document is, for a hint. Default: a mapping. */
  readonly form?: string;
  /** Advice for a file that is something else; null for none. */
  readonly adviceFor: (path: string) => string | null;
}
