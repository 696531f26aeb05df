/** Messages of a run, beside its progress. */
export interface RunMessages {
  /** For the log only, and not for a terminal. */
  detail(event: string, text: string): void;
  info(event: string, text: string): void;
  warn(event: string, text: string): void;
}
