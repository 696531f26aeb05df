/** A semaphore with two limits: in all, and of one key. */
export class KeyedSemaphore {
  readonly #most: number;
  readonly #mostOfKey: number;
  readonly #byKey = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostOfKey: number) {
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a slot, or returns null. The returned function gives it back, once, however often it is called. */
  take(keyId: string): (() => void) | null {
    const ofKey = this.#byKey.get(keyId) ?? 0;
    if (this.#taken >= this.#most || ofKey >= this.#mostOfKey) return null;
    this.#taken++;
    this.#byKey.set(keyId, ofKey + 1);
    let isMine = true;
    return () => {
      if (!isMine) return;
      isMine = false;
      this.#taken--;
      const left = (this.#byKey.get(keyId) ?? 1) - 1;
      if (left === 0) this.#byKey.delete(keyId);
      else this.#byKey.set(keyId, left);
    };
  }
}
