/** What a job may spend: of its key's credits and calls, as they are at the moment, and of its own `max_credits`. */
import { ServiceError } from '../errors.ts';
import type { ActiveKey, KeyRing } from '../key-ring.ts';
import type { BatchRow, Reason } from './batch-rows.ts';
import type { Outcome } from './perform.ts';

export class Budget {
  readonly #keys: Pick<KeyRing, 'left'>;

  constructor(keys: Pick<KeyRing, 'left'>) {
    this.#keys = keys;
  }

  /** Credits that may be spent on a job now. */
  of({ request: { maxCredits }, credits }: Pick<BatchRow, 'request' | 'credits'>, key: ActiveKey): number {
    return Math.min(this.#keys.left(key).credits, maxCredits === null ? Infinity : maxCredits - credits);
  }

  /** How many of the outcomes the key has credits and calls for, from the first on, as it is now: others have spent some meanwhile. */
  affordable(row: BatchRow, key: ActiveKey, outcomes: readonly Outcome[]): number {
    const most = Math.min(outcomes.length, this.#keys.left(key).calls);
    let left = this.of(row, key);
    let count = 0;
    while (count < most && creditsOf(outcomes[count] as Outcome) <= left) left -= creditsOf(outcomes[count++] as Outcome);
    return count;
  }

  /** Why a job pauses whose next line costs `needs`. */
  short({ request: { maxCredits }, credits }: BatchRow, key: ActiveKey, needs: number): Reason {
    if (maxCredits !== null && maxCredits - credits < needs && this.#keys.left(key).credits >= needs) return { code: 'max_credits', detail: `the next line may cost more than max_credits leaves; raise it (PATCH), or cancel the job to fetch what is done`, needs };
    return { code: 'insufficient_credits', detail: 'this key has no credits left; the job goes on when it has', needs };
  }
}

export function creditsOf({ found }: Outcome): number {
  return found instanceof ServiceError ? 0 : found.credits;
}
