/** The bodies and Idempotency-Keys of verify requests: the same for the same addresses, in every run. */
import type { VerifyAnswer } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import type { PendingGroup } from './pending.ts';
import type { RequestPart } from './request-parts.ts';
import type { StepAnswer } from './result.ts';
import type { StepContext } from './step-context.ts';

export class VerifyBodies {
  readonly #context: Pick<StepContext, 'client' | 'idempotencyKey'>;
  /** The spelling that the service is asked, by key, where the two differ. */
  readonly #spellings = new Map<string, string>();

  constructor(context: Pick<StepContext, 'client' | 'idempotencyKey'>) {
    this.#context = context;
  }

  spell(key: string, spelling: string): void {
    if (spelling !== key) this.#spellings.set(key, spelling);
  }

  forget(key: string): void {
    this.#spellings.delete(key);
  }

  bodyFor(keys: readonly string[]): string {
    return this.#context.client.verifyBody(keys.map((key) => this.#spellings.get(key) ?? key));
  }

  /** With the key of the first request, a service would repeat the answer that left the addresses out. */
  keyOf({ keys, asked }: RequestPart): string {
    const body = this.bodyFor(keys);
    return this.#context.idempotencyKey(asked === 1 ? body : `${body}\nleft out`);
  }

  /** With the key of an earlier round, the service would repeat its earlier answer. */
  pollKey({ round }: PendingGroup, keys: Iterable<string>): string {
    return this.#context.idempotencyKey(`${this.bodyFor([...keys])}\n${round}`);
  }

  /** The answers about keys; null for a key that the answer leaves out, or without an answer. */
  answersFor(keys: readonly string[], byEmail: VerifyAnswer['byEmail'] | null): Map<string, StepAnswer<VerificationResult> | null> {
    return new Map(keys.map((key) => [key, byEmail === null ? null : this.answerFor(key, byEmail)]));
  }

  /** The answer about a key. The first record that asks decides the spelling, so the row does not show it. */
  answerFor(key: string, byEmail: VerifyAnswer['byEmail']): StepAnswer<VerificationResult> | null {
    const answer = byEmail.get(key);
    if (answer === undefined) return null;
    const record = answer.email === this.#spellings.get(key) ? { ...answer, email: key } : answer;
    return { record, text: JSON.stringify(record) };
  }
}
