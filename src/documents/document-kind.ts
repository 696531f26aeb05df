/** The kind of a YAML or JSON file, for the messages about it. Types only. */

export interface DocumentKind {
  /** Without an article: `job file`. */
  readonly noun: string;
  /** The one thing that it holds: `job`. */
  readonly content: string;
  /** Begins its error codes: `job` for `job_syntax`, `job_unreadable` and `job_too_large`. */
  readonly code: string;
  /** A value that needs quotes, for a hint: `"*.csv"`. */
  readonly quoted: string;
  /** Advice for a file that is something else; null for none. */
  readonly adviceFor: (path: string) => string | null;
}
