/** An API key that may be replaced while calls are under way: on a refusal it is read again, once for all calls that carried it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../util/errors.ts';

/** Waits between two looks, in milliseconds: a key file may be empty, half written or gone for a moment. */
const LOOK_AGAIN_MS = [50, 100, 200, 400, 800];

/** The result of reading the key again. */
export interface KeyRenewal {
  /** Calls are sent with another key from now on than the one that was refused. */
  readonly isNew: boolean;
  /** The description of what was found instead; '' when `isNew`. */
  readonly found: string;
}

interface RotatingKeyOptions {
  /** Reads the key again from its source; null for a key that cannot change, such as one from the environment. @throws MillraceError */
  readonly readAgain: (() => Promise<string>) | null;
  readonly wait?: (ms: number) => Promise<unknown>;
}

export class RotatingKey {
  readonly #readAgain: (() => Promise<string>) | null;
  readonly #wait: (ms: number) => Promise<unknown>;
  readonly #listeners: ((key: string) => void)[] = [];
  /** Keys that the service has refused since it last accepted one. */
  readonly #refused = new Set<string>();
  #value: string | null;
  #version = 1;
  #reading: Promise<KeyRenewal> | null = null;

  /** @param value null: calls carry no key */
  constructor(value: string | null, { readAgain, wait = sleep }: RotatingKeyOptions = { readAgain: null }) {
    this.#value = value;
    this.#readAgain = readAgain;
    this.#wait = wait;
  }

  get value(): string | null {
    return this.#value;
  }

  /** Counts the keys, from 1: tells a call that carried an older one. */
  get version(): number {
    return this.#version;
  }

  /** While the key is being read again; else null. Never rejects. */
  get reading(): Promise<void> | null {
    return this.#reading?.then(() => undefined) ?? null;
  }

  /** Calls `listener` with the key and with each later one, before any call carries it. */
  listen(listener: (key: string) => void): void {
    this.#listeners.push(listener);
    if (this.#value !== null) listener(this.#value);
  }

  /** The service has taken a call with the key of that version. */
  accepted(version: number): void {
    if (version === this.#version && this.#refused.size > 0) this.#refused.clear();
  }

  /** The service has refused the key of that version. Resolves to null when it cannot be read again. Never rejects. */
  async renew(version: number): Promise<KeyRenewal | null> {
    // The call was sent before the key changed: its refusal says nothing of the new one.
    if (version !== this.#version) return { isNew: true, found: '' };
    if (this.#readAgain === null) return null;
    this.#reading ??= this.#read(this.#readAgain).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(readAgain: () => Promise<string>): Promise<KeyRenewal> {
    this.#refused.add(this.#value ?? '');
    let before: string | null = null;
    let found = '';
    for (let looks = 0; ; looks++) {
      const seen = await readAgain().catch((error: unknown) => error);
      const isNew = typeof seen === 'string' && !this.#refused.has(seen);
      // Seen twice: one that is being written is not whole yet.
      if (isNew && seen === before) return this.#take(seen);
      before = isNew ? seen : null;
      found = typeof seen === 'string' ? 'it holds no other key' : seen instanceof MillraceError ? seen.message : String(seen);
      const waitMs = LOOK_AGAIN_MS[looks];
      if (waitMs === undefined) return { isNew: false, found };
      await this.#wait(waitMs);
    }
  }

  #take(key: string): KeyRenewal {
    for (const listener of this.#listeners) listener(key);
    this.#value = key;
    this.#version++;
    return { isNew: true, found: '' };
  }
}
