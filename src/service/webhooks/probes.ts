/** Which delivery finds out whether a host that has asked to be left alone takes any again: the one that was tried most often, so that one comes to its end however many wait there, and however seldom one is tried. Pure. */
import { nameOf, type Lane } from './slots.ts';

/** Of more of them those that were noted first are forgotten. */
const MOST_PROBES = 10_000;

interface Probe {
  readonly id: string;
  readonly attempts: number;
}

export class Probes {
  readonly #byLane = new Map<string, Probe>();

  /** Its id; null: any will do. */
  of(lane: Lane): string | null {
    return this.#byLane.get(nameOf(lane))?.id ?? null;
  }

  /** One was asked to wait, and others with it. @param attempts of it that failed */
  note(lane: Lane, id: string, attempts: number): void {
    const name = nameOf(lane);
    const known = this.#byLane.get(name);
    if (known !== undefined && known.id !== id && known.attempts >= attempts) return;
    this.#byLane.set(name, { id, attempts });
    if (this.#byLane.size > MOST_PROBES) this.#byLane.delete(this.#byLane.keys().next().value as string);
  }

  forget(lane: Lane): void {
    this.#byLane.delete(nameOf(lane));
  }
}
