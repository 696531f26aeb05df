/** The last finished run of the same job, to compare a run with. Types only. */
import type { KindCounts, Tally } from '../writer/tally.ts';

/** Its figures, as its report had them. */
export interface PreviousRun {
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly exitCode: number;
  /** Milliseconds, over all resumes. */
  readonly activeMs: number;
  /** `skipped` only with `input.where`. */
  readonly records: { readonly total: number } & Tally['outcomes'];
  readonly verification: Readonly<Record<string, number>>;
  /** See `Tally.companies`. */
  readonly companies?: KindCounts;
  readonly credits: number;
  /** Its input had the same content. Left out otherwise, and where that is unknown. */
  readonly sameInput?: true;
}
