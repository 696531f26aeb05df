/** The progress of an import: a bar on a terminal, a log line every ten seconds elsewhere. */
import { count, duration, printable } from '../../../util/display.ts';
import { mayRedraw } from '../../../util/may-redraw.ts';

/** Where progress is shown. */
interface Out {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 200;
const LINE_MS = 10_000;
const BAR_CELLS = 20;
/** Before this, a rate says nothing about the rest of a file. */
const LEAST_MS = 2_000;
const MAX_NAME = 40;
const ERASE_LINE = '\r\u001b[K';

export class ImportProgress {
  readonly #out: Out;
  readonly #now: () => number;
  readonly #isLive: boolean;
  #file: string | null = null;
  #begunMs = 0;
  #shownMs = 0;
  #isDrawn = false;

  /** @param now milliseconds of a monotonic clock @param env decides whether a bar can be drawn again */
  constructor(out: Out, env: NodeJS.ProcessEnv, now: () => number = () => performance.now()) {
    this.#out = out;
    this.#now = now;
    this.#isLive = mayRedraw(out, env);
  }

  /**
   * Shows how far a file is, if it is time to.
   * @param rows the number of stored rows
   * @param share the read part of the file, 0 to 1; null when it is unknown, as in an archive
   */
  update(file: string, rows: number, share: number | null): void {
    const nowMs = this.#now();
    if (file !== this.#file) {
      this.#file = file;
      this.#begunMs = this.#shownMs = nowMs;
    }
    if (nowMs - this.#shownMs < (this.#isLive ? REDRAW_MS : LINE_MS)) return;
    this.#shownMs = nowMs;
    const text = describe(rows, share, nowMs - this.#begunMs);
    const name = printable(file.length > MAX_NAME ? `…${file.slice(1 - MAX_NAME)}` : file);
    if (!this.#isLive) {
      this.#out.write(`millrace: ${name}: ${text}\n`);
      return;
    }
    const bar = share === null ? '' : `[${'#'.repeat(Math.round(share * BAR_CELLS)).padEnd(BAR_CELLS, '.')}] `;
    this.#out.write(ERASE_LINE + `${name} ${bar}${text}`.slice(0, (this.#out.columns ?? 80) - 1));
    this.#isDrawn = true;
  }

  /** Removes the bar, before anything else is written. */
  end(): void {
    if (this.#isDrawn) this.#out.write(ERASE_LINE);
    this.#isDrawn = false;
    this.#file = null;
  }
}

/** Such as `34 %, 12,000 rows, 8,120 a second, 12 s left`. */
function describe(rows: number, share: number | null, tookMs: number): string {
  const parts = [`${count(rows)} rows`];
  if (share !== null) parts.unshift(`${Math.floor(share * 100)} %`);
  if (tookMs > 0) parts.push(`${count(Math.round((rows / tookMs) * 1_000))} a second`);
  if (share !== null && share > 0 && tookMs >= LEAST_MS) parts.push(`${duration((tookMs / share) * (1 - share))} left`);
  return parts.join(', ');
}
