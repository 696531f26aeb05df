/** Candidate split points, thinned out evenly so that memory stays flat. Pure. */
import type { Position } from '../formats/input-record.ts';

/** A record at which a range may begin, and the number of records before it. */
export interface SplitPoint {
  readonly from: Position;
  readonly before: number;
}

/** Candidates at most. A boundary is off by at most two divided by this, as a share of the records. */
const MOST_POINTS = 32_768;

export class SplitPoints {
  readonly #group: number;
  readonly #most: number;
  #points: SplitPoint[] = [];
  /** The least distance of two candidates in records. It doubles when there are too many. */
  #apart = 1;
  #last = { file: -1, frame: -1 };

  /** @param group candidates lie at multiples of this many records */
  constructor(group: number, most = MOST_POINTS) {
    this.#group = group;
    this.#most = most;
  }

  /**
   * Adds a record, in order. In an archive only the first record of a frame is a candidate: reaching another one means decompressing the
   * frame.
   */
  note(before: number, from: Position): void {
    if (before % this.#group !== 0) return;
    const { file, frame } = from;
    if (frame !== null) {
      if (file === this.#last.file && frame.at === this.#last.frame) return;
      this.#last = { file, frame: frame.at };
    }
    // The first record always belongs to the first range.
    if (before === 0 || before - (this.#points.at(-1)?.before ?? 0) < this.#apart) return;
    this.#points.push({ from, before });
    if (this.#points.length > this.#most) this.#thinOut();
  }

  /**
   * The beginnings of all ranges but the first, each as near as possible to an equal share of the records. Fewer when there are too few
   * candidates.
   */
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
