/** The places among which the boundaries of ranges are chosen, thinned out evenly so that memory stays flat. Pure. */
import type { Position } from './types.ts';

/** A record at which a range may begin, and how many records stand before it. */
export interface SplitPoint {
  readonly from: Position;
  readonly before: number;
}

/** A boundary is off by at most one in half of this number of the records. */
const MOST_POINTS = 32_768;

export class SplitPoints {
  readonly #group: number;
  readonly #most: number;
  #points: SplitPoint[] = [];
  /** Points are this many records apart, or more. Doubled whenever there are too many. */
  #apart = 1;
  #last = { file: -1, frame: -1 };

  /** @param group only every so many records */
  constructor(group: number, most = MOST_POINTS) {
    this.#group = group;
    this.#most = most;
  }

  /** Records are noted in order. In an archive only the first one of a frame counts: the others are reached by unpacking what stands before. */
  note(before: number, from: Position): void {
    if (before % this.#group !== 0) return;
    const { file, frame } = from;
    if (frame !== null) {
      if (file === this.#last.file && frame.at === this.#last.frame) return;
      this.#last = { file, frame: frame.at };
    }
    // The first record is always the first range's.
    if (before === 0 || before - (this.#points.at(-1)?.before ?? 0) < this.#apart) return;
    this.#points.push({ from, before });
    if (this.#points.length > this.#most) this.#thinOut();
  }

  /** The beginnings of all ranges but the first, each nearest to its share of the records and behind the one before it. Fewer where there are no more. */
  nearest(of: number, records: number): SplitPoint[] {
    const points = this.#points;
    const found: SplitPoint[] = [];
    let at = 0;
    for (let k = 1; k < of && at < points.length; k++) {
      const target = (records * k) / of;
      const distance = (i: number): number => Math.abs((points[i]?.before ?? Infinity) - target);
      while (distance(at + 1) < distance(at)) at++;
      found.push(points[at] as SplitPoint);
      at++;
    }
    return found;
  }

  #thinOut(): void {
    this.#apart *= 2;
    const kept: SplitPoint[] = [];
    for (const point of this.#points) if (point.before - (kept.at(-1)?.before ?? 0) >= this.#apart) kept.push(point);
    this.#points = kept;
  }
}
