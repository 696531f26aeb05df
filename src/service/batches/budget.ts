/** The budget of a job: the credits and calls of its key, and its own `max_credits`. */
import { ServiceError } from '../http/problem.ts';
import type { ActiveKey, KeyRing } from '../accounts/key-ring.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import type { LineOutcome } from './execute.ts';

export class Budget {
  readonly #keys: Pick<KeyRing, 'left'>;

  constructor(keys: Pick<KeyRing, 'left'>) {
    this.#keys = keys;
  }

  /** Credits that a job may spend now. */
  of({ request: { maxCredits }, credits }: Pick<BatchRow, 'request' | 'credits'>, key: ActiveKey): number {
    return Math.min(this.#keys.left(key).credits, maxCredits === null ? Infinity : maxCredits - credits);
  }

  /** The number of outcomes, counted from the first, that the key can pay now. */
  affordable(row: BatchRow, key: ActiveKey, outcomes: readonly LineOutcome[]): number {
    const max = Math.min(outcomes.length, this.#keys.left(key).calls);
    let left = this.of(row, key);
    let count = 0;
    while (count < max && creditsOf(outcomes[count] as LineOutcome) <= left) left -= creditsOf(outcomes[count++] as LineOutcome);
    return count;
  }

  /** The reason for a pause when the next line costs `needs`. */
  short({ request: { maxCredits }, credits }: BatchRow, key: ActiveKey, needs: number): Reason {
    if (maxCredits !== null && maxCredits - credits < needs && this.#keys.left(key).credits >= needs)
      return {
        code: 'max_credits',
        detail: `the next line may cost more than max_credits leaves; raise it (PATCH), or cancel the job to fetch what is done`,
        needs,
      };
    return { code: 'insufficient_credits', detail: 'this key has no credits left; the job goes on when it has', needs };
  }
}

export function creditsOf({ found }: LineOutcome): number {
  return found instanceof ServiceError ? 0 : found.credits;
}
