/** A language of the suite, and how its runner is started. Types only. */

export interface Runner {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Language {
  readonly name: string;
  /** Runs of each scenario, such as a synchronous and an asynchronous one. */
  readonly variants: readonly string[];
  /** Scenarios that a variant cannot have, with the reason in a comment. */
  readonly unsupported: Readonly<Record<string, readonly string[]>>;
  readonly runner: Runner;
}
