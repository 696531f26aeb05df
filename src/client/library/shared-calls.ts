/** Shared by a client and those of its `withOptions`: the number of calls at once, and their end. */
export class SharedCalls {
  #free: number;
  /** Calls that wait for a place, in their order. */
  readonly #waiting = new Set<() => void>();
  #underWay = 0;
  #isClosing = false;
  readonly #whenIdle: (() => void)[] = [];
  readonly #end = new AbortController();

  readonly #release: () => Promise<void>;
  /** Until the connection of an ended call may be used again. */
  #settling: Promise<void> | null = null;

  /**
   * @param places calls that are sent at once; streams have connections beside them
   * @param release ends the connections, where they are the client's own
   */
  constructor(places: number, release = (): Promise<void> => Promise.resolve()) {
    this.#free = places;
    this.#release = release;
  }

  /** Fires when the client is destroyed. */
  get end(): AbortSignal {
    return this.#end.signal;
  }

  /** Whether a new call is refused. */
  get isClosed(): boolean {
    return this.#isClosing;
  }

  /** Counts a call or stream until the returned function is called. */
  begin(): () => void {
    this.#underWay++;
    return () => {
      this.#underWay--;
      this.#settle();
      if (this.#underWay === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    };
  }

  /** Waits for a place, and returns what frees it. @throws the reason of the signal */
  async take(signal: AbortSignal): Promise<() => void> {
    const free = (): void => {
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    };
    if (this.#settling !== null) await this.#settling;
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return free;
    }
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(go);
        reject(signal.reason);
      };
      const go = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener('abort', stop);
        resolve();
      };
      this.#waiting.add(go);
      signal.addEventListener('abort', stop, { once: true });
    });
    return free;
  }

  /** The fetch of Node frees a connection one turn of the event loop after its answer: a call before that would open another. */
  #settle(): void {
    const { setImmediate: soon } = globalThis as { readonly setImmediate?: typeof setImmediate };
    if (soon === undefined) return;
    const settling = new Promise<void>((resolve) => void soon(resolve)).then(() => {
      if (this.#settling === settling) this.#settling = null;
    });
    this.#settling = settling;
  }

  /** Refuses new calls, and waits for those under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#underWay > 0) await new Promise<void>((resolve) => void this.#whenIdle.push(resolve));
    await this.#release();
  }

  /** Ends the calls under way. */
  async destroy(): Promise<void> {
    this.#isClosing = true;
    this.#end.abort();
    await this.#release();
  }
}
