/**
 * The part of a plan that is left to missing pods, which may go on by themselves, and whether any of them uses it.
 * Pure: time is passed in.
 */
import { MINUTE_MS } from '../../inference/quota-observations.ts';
import { IdleShare } from './idle-share.ts';

/** Pods that went missing together. */
interface Watch {
  readonly pods: ReadonlySet<string>;
  /** Their part of the plan. */
  readonly share: number;
  readonly idle: IdleShare;
}

export class MissingPods {
  readonly #rpm: number;
  #part = 1;
  /** The part before the current one: a pod whose part grew needs a minute to use it. */
  #partBefore = 1;
  #dividedMs = -Infinity;
  /** In the order in which the pods went missing. */
  #watches: readonly Watch[] = [];
  /** Missing pods that have ended. */
  readonly #ended = new Set<string>();

  /** @param rpm requests a minute of the whole plan */
  constructor(rpm: number) {
    this.#rpm = rpm;
  }

  /** The part of the plan that is not left to missing pods, 0 < part <= 1. */
  get part(): number {
    return this.#part;
  }

  /** No pod is missing. */
  clear(): void {
    this.#part = 1;
    this.#watches = [];
    this.#ended.clear();
  }

  /** From now on the present pods have `part` of the plan. Observations of pods that are still missing stay, unless one came back. */
  divide(part: number, missing: ReadonlySet<string>, nowMs: number): void {
    const before = this.#watches.filter(({ pods }) => ![...pods].every((pod) => this.#ended.has(pod)));
    const isBack = before.some(({ pods }) => [...pods].some((pod) => !missing.has(pod)));
    const watched = isBack ? [] : before;
    const added = new Set([...missing].filter((pod) => !watched.some(({ pods }) => pods.has(pod))));
    const share = 1 - part - watched.reduce((sum, watch) => sum + watch.share, 0);
    this.#watches = added.size === 0 ? watched : [...watched, { pods: added, share, idle: new IdleShare(this.#rpm, part, nowMs, share) }];
    this.#partBefore = this.#part;
    this.#dividedMs = nowMs;
    this.#part = part;
  }

  /**
   * An answer stated how many permits are left.
   * @param spent calls of the present pods within the last minute
   * @param callsOf calls of these pods within the last minute
   */
  observe(remaining: number | null, spent: number, nowMs: number, callsOf: (pods: ReadonlySet<string>) => number): void {
    if (this.#watches.length === 0) return;
    const part = nowMs - this.#dividedMs < 2 * MINUTE_MS ? Math.min(this.#part, this.#partBefore) : this.#part;
    for (const [i, { idle }] of this.#watches.entries()) {
      // Pods that went missing later leave permits over too, which say nothing about the earlier ones.
      const leftByLater = this.#watches
        .slice(i + 1)
        .reduce((left, { pods, share }) => left + Math.max(0, share * this.#rpm - callsOf(pods)), 0);
      idle.observe(remaining, spent, nowMs, part, leftByLater);
    }
  }

  /** Missing pods that have ended: nobody uses their part, although all else is used. */
  ended(nowMs: number): readonly string[] {
    const ended = this.#watches.filter(({ idle }) => idle.isCertain(nowMs)).flatMap(({ pods }) => [...pods]);
    for (const pod of ended) this.#ended.add(pod);
    return ended;
  }
}
