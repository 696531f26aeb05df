/** When records were started, to within a quarter of a second: the age of the oldest record in progress. Pure: time is passed in. */

const EVERY_MS = 250;

export class StartTimes {
  /** In order. The first is at or before the oldest record in progress. */
  readonly #notes: { readonly number: number; readonly atMs: number }[] = [];

  /** A record starts. Numbers are in order; records before `oldest` are done. */
  started(number: number, oldest: number, nowMs: number): void {
    const last = this.#notes.at(-1);
    if (last !== undefined && last.number >= oldest && nowMs - last.atMs < EVERY_MS) return;
    this.#forgetBefore(oldest);
    this.#notes.push({ number, atMs: nowMs });
  }

  /** The age of the record with this number, which is in progress, milliseconds. */
  ageMs(oldest: number, nowMs: number): number {
    this.#forgetBefore(oldest);
    return nowMs - (this.#notes[0]?.atMs ?? nowMs);
  }

  #forgetBefore(oldest: number): void {
    let done = 0;
    while ((this.#notes[done + 1]?.number ?? Infinity) <= oldest) done++;
    if (done > 0) this.#notes.splice(0, done);
  }
}
