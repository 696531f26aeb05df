import { encodeAnswer } from './answer.ts';
import type { SharedAnswer } from './options.ts';
import { purgeTest, type PurgeFilter } from './purge.ts';
import { AnswerCounts, youngestOf, type LedgerStats } from './stats.ts';

/** The contents of a shared ledger, counted as it is read. */
export class SharedCounts {
  readonly #counts: AnswerCounts<string>;
  readonly #jobs = new Set<string>();
  readonly #runs = new Set<string>();
  #bytes = 0;

  constructor(options: { maxAgeDays: number; now: number }) {
    this.#counts = new AnswerCounts(youngestOf(options));
  }

  add(bytes: number, owners: Iterable<{ readonly job: string; readonly run: string }>, answers: readonly SharedAnswer[]): void {
    this.#bytes += bytes;
    for (const { job, run } of owners) {
      this.#jobs.add(job);
      this.#runs.add(run);
    }
    for (const { scope, answer, at } of answers) this.#counts.add(JSON.stringify(scope), answer.kind, at);
  }

  stats(): LedgerStats {
    const scopes = [...this.#counts.found]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, counted]) => {
        const [origin, step, options] = JSON.parse(name) as SharedAnswer['scope'];
        return { origin, step, options, ...counted };
      });
    return { bytes: this.#bytes, jobs: this.#jobs.size, runs: this.#runs.size, scopes };
  }
}

/** The same test for answers on their way between ledgers. */
export function sharedPurgeTest(filter: PurgeFilter): (answer: SharedAnswer) => boolean {
  const goes = purgeTest(filter);
  return ({ key, at, answer }) => goes(key, at, encodeAnswer(answer).body);
}

/** Adds one to a step's count. */
export function countStep(steps: Record<string, number>, { scope: [, step] }: SharedAnswer): void {
  steps[step] = (steps[step] ?? 0) + 1;
}
