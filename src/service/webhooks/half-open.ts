/**
 * Half-open state of a destination after a pause: one delivery tests whether the receiver accepts deliveries again. It is the one with the
 * most attempts, so that one delivery reaches its last attempt even when thousands wait. Pure.
 */
import { destinationName, type Destination } from './concurrency.ts';

/** Probes that are remembered. Beyond this the oldest is forgotten. */
const MAX_PROBES = 10_000;

interface HalfOpenProbe {
  readonly id: string;
  readonly attempts: number;
}

export class HalfOpenProbes {
  readonly #byDestination = new Map<string, HalfOpenProbe>();

  /** The id of the delivery that goes first after a pause; null when any delivery may. */
  of(destination: Destination): string | null {
    return this.#byDestination.get(destinationName(destination))?.id ?? null;
  }

  /** Records that the destination asked for a pause in answer to a delivery. @param attempts failed attempts of the delivery */
  note(destination: Destination, id: string, attempts: number): void {
    const name = destinationName(destination);
    const known = this.#byDestination.get(name);
    if (known !== undefined && known.id !== id && known.attempts >= attempts) return;
    this.#byDestination.set(name, { id, attempts });
    if (this.#byDestination.size > MAX_PROBES) this.#byDestination.delete(this.#byDestination.keys().next().value as string);
  }

  forget(destination: Destination): void {
    this.#byDestination.delete(destinationName(destination));
  }
}
