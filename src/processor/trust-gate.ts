/** Answers of one kind of 4xx, and nothing else, after which a job stops. */
export const DISTRUST_AFTER = 100;

/**
 * A service that answers every question with the same 4xx is probably not the service that was meant. Until it has
 * answered anything else, such answers are held back: they reach neither the ledger nor the output.
 */
export class TrustGate {
  #trusted: boolean;
  #kind: string | null = null;
  #answers = 0;
  #held: (() => void)[] = [];
  readonly #onDistrust: (answers: number, kind: string) => void;

  constructor(options: { trusted: boolean; onDistrust: (answers: number, kind: string) => void }) {
    this.#trusted = options.trusted;
    this.#onDistrust = options.onDistrust;
  }

  get trusted(): boolean {
    return this.#trusted;
  }

  get holding(): number {
    return this.#held.length;
  }

  /** An answer that is no 4xx: the service is what it should be. */
  vouch(): void {
    if (this.#trusted) return;
    this.#trusted = true;
    this.releaseHeld();
  }

  /** A 4xx answer. `deliver` runs now or, while the service is not trusted, when it is (or when the input ends). */
  judge(kind: string, deliver: (() => void) | null): void {
    if (!this.#trusted) {
      if (this.#kind !== null && this.#kind !== kind) {
        this.vouch();
      } else {
        this.#kind = kind;
        if (deliver !== null) this.#held.push(deliver);
        if (++this.#answers >= DISTRUST_AFTER) this.#onDistrust(this.#answers, kind);
        return;
      }
    }
    deliver?.();
  }

  /** At the end of a shorter input the answers stand. */
  releaseHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const deliver of held) deliver();
  }
}
