import type { LedgerAnswer } from './answer.ts';

/** A flush in mid-interval keeps one transaction short enough (about 20 ms) not to stall the calls in flight. */
const FULL_ENTRIES = 2_000;
const FULL_CHARS = 8 * 1024 * 1024;

/** The owner and time of an answer from a shared ledger. */
export interface AnswerOrigin {
  readonly job: string;
  readonly run: string;
  readonly at: number;
}

interface WaitingAnswer {
  readonly answer: LedgerAnswer;
  readonly hash: number;
  readonly given: AnswerOrigin | null;
}

/** Answers that are not on the disk yet. Pure. */
export class WaitingAnswers {
  /** By scope, then by key. */
  #answers = new Map<number, Map<string, WaitingAnswer>>();
  #entries = 0;
  #chars = 0;

  get isEmpty(): boolean {
    return this.#entries === 0;
  }

  /** True when it is time to write them. */
  get isFull(): boolean {
    return this.#entries >= FULL_ENTRIES || this.#chars >= FULL_CHARS;
  }

  get(scope: number, key: string): LedgerAnswer | null {
    return this.#answers.get(scope)?.get(key)?.answer ?? null;
  }

  add(scope: number, key: string, waiting: WaitingAnswer): void {
    let answers = this.#answers.get(scope);
    if (answers === undefined) this.#answers.set(scope, (answers = new Map()));
    answers.set(key, waiting);
    this.#entries++;
    this.#chars += key.length + ('text' in waiting.answer ? waiting.answer.text.length : 16);
  }

  *all(): Generator<readonly [scope: number, key: string, waiting: WaitingAnswer], void, void> {
    for (const [scope, answers] of this.#answers) for (const [key, waiting] of answers) yield [scope, key, waiting];
  }

  clear(): void {
    this.#answers = new Map();
    this.#entries = 0;
    this.#chars = 0;
  }
}
