import type { Step } from '../job/steps.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';

/** Answers of one kind of 4xx, and nothing else, after which a job stops. */
export const DISTRUST_AFTER = 100;

/** A 4xx answer to one lookup. */
export interface Doubtful {
  readonly step: Step;
  readonly key: string;
  /** Its kind, such as `404 miss`. */
  readonly said: string;
  /** The service would not look, and did not say that it found nothing. */
  readonly refused: boolean;
  readonly answer: Exclude<LedgerAnswer, { readonly text: string }>;
}

/** What a run knows of its service: kept in the checkpoint. */
export interface Trust {
  /** It has answered something other than one kind of 4xx. */
  readonly trusted: boolean;
  /** Answers that are held back. Left out by versions of before. */
  readonly held?: readonly Doubtful[] | undefined;
}

/**
 * A service that answers every question with the same 4xx is probably not the service that was meant. Until it has
 * answered anything else, such answers are held back: they reach neither the ledger nor the output, and a run that is
 * stopped leaves them to the next one, which does not ask again.
 */
export class TrustGate {
  #trusted: boolean;
  #distrusted = false;
  /** The ledger has something that this service has found before. */
  #known = false;
  /** What is counted says that it would not look, and not that it found nothing. */
  #refusing = false;
  #kind: string | null = null;
  #answers = 0;
  #held: { readonly deliver: () => void; readonly doubtful: Doubtful | null }[] = [];
  /** Held back by the run before, and not asked for yet by this one. By step and key. */
  readonly #before: Map<string, Doubtful>;
  readonly #onDistrust: (answers: number, kind: string) => void;

  constructor({ trusted, held = [], onDistrust }: Trust & { onDistrust: (answers: number, kind: string) => void }) {
    this.#trusted = trusted;
    this.#before = new Map(held.map((doubtful) => [nameOf(doubtful.step, doubtful.key), doubtful]));
    this.#onDistrust = onDistrust;
  }

  get trusted(): boolean {
    return this.#trusted;
  }

  /** It has answered with one kind of 4xx alone, and the run ends for it. */
  get distrusted(): boolean {
    return this.#distrusted && !this.#trusted;
  }

  get holding(): number {
    return this.#held.length;
  }

  /** For the checkpoint. What came from a service that is not believed is asked for again. */
  get trust(): Trust {
    if (this.distrusted) return { trusted: false, held: [] };
    return { trusted: this.#trusted, held: [...this.#before.values(), ...this.#held.flatMap(({ doubtful }) => (doubtful === null ? [] : [doubtful]))] };
  }

  /** An answer that is no 4xx: the service is what it should be. */
  vouch(): void {
    if (this.#trusted) return;
    this.#trusted = true;
    this.releaseHeld();
  }

  /** Nobody knows it to be what it should be. */
  disbelieve(): void {
    this.#distrusted = true;
  }

  /**
   * The ledger has a match of this service. Then refusals are no reason to doubt it: a list that was asked about before has
   * nothing but those left to ask, since they are asked again by each run. Misses still are: they would be believed for good.
   */
  recognise(): void {
    if (this.#trusted || this.#known) return;
    this.#known = true;
    if (!this.#refusing) return;
    this.#answers = 0;
    this.releaseHeld();
  }

  /** `judge`, or `refuse`, of what the next run is told if this one does not come to `deliver`. */
  doubt(doubtful: Doubtful, deliver: () => void): void {
    if (doubtful.refused) this.refuse(doubtful.said, deliver, doubtful);
    else this.judge(doubtful.said, deliver, doubtful);
  }

  /** `judge` for a request that was refused. */
  refuse(kind: string, deliver: (() => void) | null, doubtful: Doubtful | null = null): void {
    if (this.#known) {
      // It does not count, and is one more kind all the same.
      if (this.#kind !== null && this.#kind !== kind) this.vouch();
      this.#kind = kind;
      deliver?.();
      return;
    }
    this.#refusing = true;
    this.judge(kind, deliver, doubtful);
  }

  /** What the run before was told and held back, once; it is judged again. Null: nothing. */
  recall(step: Step, key: string): Doubtful | null {
    if (this.#before.size === 0) return null;
    const name = nameOf(step, key);
    const doubtful = this.#before.get(name) ?? null;
    this.#before.delete(name);
    return doubtful;
  }

  /**
   * A 4xx answer of that kind. `deliver` runs now or, while the service is not trusted, when it is (or when the input ends).
   * `doubtful`: what the next run is told if this one does not come to that; null: it asks again.
   */
  judge(kind: string, deliver: (() => void) | null, doubtful: Doubtful | null = null): void {
    if (!this.#trusted) {
      if (this.#kind !== null && this.#kind !== kind) {
        this.vouch();
      } else {
        this.#kind = kind;
        if (deliver !== null) this.#held.push({ deliver, doubtful });
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
    for (const { deliver } of held) deliver();
  }
}

function nameOf(step: Step, key: string): string {
  return `${step} ${key}`;
}
