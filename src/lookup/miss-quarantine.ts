import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { Step } from '../steps/registry.ts';

/** A job stops after this many answers of one kind of 4xx and nothing else. */
export const DISTRUST_AFTER = 100;

/** A 4xx answer to one lookup. */
export interface QuarantinedAnswer {
  readonly step: Step;
  readonly key: string;
  /** The kind of the answer, such as `404 miss`. */
  readonly said: string;
  /** Whether the service refused the request. Otherwise it found nothing. */
  readonly refused: boolean;
  readonly answer: Exclude<LedgerAnswer, { readonly text: string }>;
}

/** The state of the quarantine, in the checkpoint. */
export interface QuarantineState {
  /** Whether the service has answered with anything else than one kind of 4xx. */
  readonly trusted: boolean;
  /** Quarantined answers. */
  readonly held?: readonly QuarantinedAnswer[] | undefined;
}

/**
 * Holds back 4xx answers of a service that may be the wrong one, because it answers everything with the same 4xx.
 *
 * ## untrusted
 * Entered at the start. 4xx answers of one kind are quarantined: they reach neither the ledger nor the output.
 * A stopped run leaves them to the next one, which does not ask again.
 *
 * ## trusted
 * Entered by any other answer, or by a second kind of 4xx. Quarantined answers are released, and later ones pass.
 *
 * ## rejected
 * Entered by the job after `DISTRUST_AFTER` answers of one kind. The run ends.
 */
export class MissQuarantine {
  #trusted: boolean;
  #isServiceRejected = false;
  /** The ledger has a match of this service. */
  #isKnownToLedger = false;
  /** The counted answers are refusals, not misses. */
  #countsRefusals = false;
  #kind: string | null = null;
  #answers = 0;
  #held: { readonly deliver: () => void; readonly doubtful: QuarantinedAnswer | null }[] = [];
  /** Quarantined by the run before, and not asked for yet by this one. By step and key. */
  readonly #restored: Map<string, QuarantinedAnswer>;
  readonly #onDistrust: (answers: number, kind: string) => void;

  constructor({ trusted, held = [], onDistrust }: QuarantineState & { onDistrust: (answers: number, kind: string) => void }) {
    this.#trusted = trusted;
    this.#restored = new Map(held.map((doubtful) => [idOf(doubtful.step, doubtful.key), doubtful]));
    this.#onDistrust = onDistrust;
  }

  get trusted(): boolean {
    return this.#trusted;
  }

  /** The service has answered with one kind of 4xx only, and the run ends for it. */
  get isServiceRejected(): boolean {
    return this.#isServiceRejected && !this.#trusted;
  }

  get size(): number {
    return this.#held.length;
  }

  /** The state for the checkpoint. Answers of a rejected service are asked for again. */
  get trust(): QuarantineState {
    if (this.isServiceRejected) return { trusted: false, held: [] };
    return {
      trusted: this.#trusted,
      held: [...this.#restored.values(), ...this.#held.flatMap(({ doubtful }) => (doubtful === null ? [] : [doubtful]))],
    };
  }

  /** An answer other than a 4xx: the service is the right one. */
  confirm(): void {
    if (this.#trusted) return;
    this.#trusted = true;
    this.release();
  }

  /** Nothing confirms that the service is the right one. */
  rejectService(): void {
    this.#isServiceRejected = true;
  }

  /**
   * The ledger has a match of this service. Then refusals are no reason to doubt it: a repeated list has only those left, because each run
   * asks them again.
   * Misses still are, because they would be believed for good.
   */
  confirmByLedger(): void {
    if (this.#trusted || this.#isKnownToLedger) return;
    this.#isKnownToLedger = true;
    if (!this.#countsRefusals) return;
    this.#answers = 0;
    this.release();
  }

  /** Quarantines an answer as a miss or a refusal. The next run gets it if this one does not come to `deliver`. */
  quarantine(doubtful: QuarantinedAnswer, deliver: () => void): void {
    if (doubtful.refused) this.refuse(doubtful.said, deliver, doubtful);
    else this.judge(doubtful.said, deliver, doubtful);
  }

  /** `judge` for a refused request. */
  refuse(kind: string, deliver: (() => void) | null, doubtful: QuarantinedAnswer | null = null): void {
    if (this.#isKnownToLedger) {
      // It is not counted, but it is another kind of answer.
      if (this.#kind !== null && this.#kind !== kind) this.confirm();
      this.#kind = kind;
      deliver?.();
      return;
    }
    this.#countsRefusals = true;
    this.judge(kind, deliver, doubtful);
  }

  /** Takes an answer that the run before had quarantined, to be judged again; null without one. */
  takeRestored(step: Step, key: string): QuarantinedAnswer | null {
    if (this.#restored.size === 0) return null;
    const name = idOf(step, key);
    const doubtful = this.#restored.get(name) ?? null;
    this.#restored.delete(name);
    return doubtful;
  }

  /**
   * Judges a 4xx answer. `deliver` runs now, or once the service is trusted or the input ends.
   * @param doubtful the answer for the next run if this one does not deliver it; null when the next run asks again
   */
  judge(kind: string, deliver: (() => void) | null, doubtful: QuarantinedAnswer | null = null): void {
    if (!this.#trusted) {
      if (this.#kind !== null && this.#kind !== kind) {
        this.confirm();
      } else {
        this.#kind = kind;
        if (deliver !== null) this.#held.push({ deliver, doubtful });
        if (++this.#answers >= DISTRUST_AFTER) this.#onDistrust(this.#answers, kind);
        return;
      }
    }
    deliver?.();
  }

  /** Delivers all quarantined answers. At the end of a short input they are valid. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const { deliver } of held) deliver();
  }
}

function idOf(step: Step, key: string): string {
  return `${step} ${key}`;
}
