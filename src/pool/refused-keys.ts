import type { Denied } from '../client/types.ts';
import type { KeyRenewal } from '../client/rotating-key.ts';
import type { MillraceError } from '../util/errors.ts';
import type { Task } from './call.ts';
import { deniedError, isOutOfCredits } from './fatal-errors.ts';
import type { Timers } from './timers.ts';

/** Refusals of one API key for one lookup that end the run. */
const MAX_DENIALS = 2;
/** The wait before a lookup is sent again with a key that was good before. */
const ASK_AGAIN_MS = 1_000;

interface RefusedKeysOptions {
  readonly timers: Timers;
  /** See `CallPoolOptions`. */
  readonly renewKey: ((keyVersion: number) => Promise<KeyRenewal | null>) | undefined;
  /** Whether the service has answered this job. */
  readonly isKnown: () => boolean;
}

/** Decides what follows a refused API key. One refusal may be odd, so the lookup is sent again before the run ends for it. */
export class RefusedKeys {
  readonly #options: RefusedKeysOptions;
  readonly #stopped = Promise.withResolvers<void>();

  constructor(options: RefusedKeysOptions) {
    this.#options = options;
  }

  /** Resolves to null when the lookup is to be sent again, which costs no attempt; else to the error that ends the run. */
  async judge(task: Task, { code, detail, keyVersion, meta }: Denied): Promise<MillraceError | null> {
    if (isOutOfCredits(meta.status, code)) return deniedError(meta.status, code, detail);
    const renewal = keyVersion === undefined ? null : await this.#options.renewKey?.(keyVersion);
    if (renewal?.isNew === true) {
      task.denials = 0;
      return null;
    }
    if (++task.denials >= MAX_DENIALS) return deniedError(meta.status, code, detail, renewal?.found);
    if (this.#options.isKnown()) await this.#wait();
    return null;
  }

  /** Waits no more. */
  stop(): void {
    this.#stopped.resolve();
  }

  async #wait(): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => this.#options.timers.after(ASK_AGAIN_MS, resolve)), this.#stopped.promise]);
  }
}
