import { oneKindOfAnswerError } from '../../pool/fatal-errors.ts';
import type { MissQuarantine } from '../../lookup/miss-quarantine.ts';
import type { RunState } from './run-state.ts';

/** Whether another shard of the job trusts the provider of this name. */
export type TrustedElsewhere = (provider: string) => Promise<boolean>;

interface ServiceDoubtOptions {
  readonly state: Pick<RunState, 'isStopping' | 'stopFor'>;
  /** Whether another shard of the job trusts the service; null when the job has no other shard. */
  readonly isTrustedElsewhere: (() => Promise<boolean>) | null;
  readonly quarantine: () => Pick<MissQuarantine, 'confirm' | 'rejectService'>;
  /** The service is trusted: the quarantine is empty. */
  readonly onTrusted: () => void;
}

/**
 * Decides what becomes of a run whose service gives one kind of 4xx answer and nothing else. Each of several shards sees a part of the
 * answers only, so the other shards are asked first.
 */
export class ServiceDoubt {
  readonly #options: ServiceDoubtOptions;
  #isOpen = false;

  constructor(options: ServiceDoubtOptions) {
    this.#options = options;
  }

  /** Whether the decision is open, or went against the service. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The quarantine holds this many answers of one kind. Ends the run unless another shard trusts the service. Never rejects. */
  async raise(answers: number, kind: string): Promise<void> {
    const { state, isTrustedElsewhere, quarantine, onTrusted } = this.#options;
    // A run that is stopping leaves the decision to the next one.
    if (this.#isOpen || state.isStopping) return;
    this.#isOpen = true;
    try {
      if (isTrustedElsewhere !== null && (await isTrustedElsewhere())) {
        this.#isOpen = false;
        quarantine().confirm();
        onTrusted();
      } else {
        quarantine().rejectService();
        state.stopFor(oneKindOfAnswerError(answers, kind));
      }
    } catch (error) {
      state.stopFor(error);
    }
  }
}
