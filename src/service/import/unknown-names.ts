/** Names of a file that are no field of its records: the values under them are left out, and counted. Pure. */
/** Is told each name that is no field and has a value. */
export type OnUnknown = (name: string) => void;

/** Values of a batch under one such name. */
export interface UnknownName {
  readonly name: string;
  readonly count: number;
  /** Of the first. */
  readonly line: number;
}

/** Different names that are counted by themselves in a batch, and characters of each. */
const MAX_NAMES = 200;
const MAX_LENGTH = 60;
const OTHERS = '*';

/** A name as it is counted. */
export function shortName(name: string): string {
  return name.slice(0, MAX_LENGTH);
}

export class UnknownNames {
  #counts = new Map<string, UnknownName>();

  add(name: string, line: number): void {
    const short = shortName(name);
    const key = this.#counts.has(short) || this.#counts.size < MAX_NAMES ? short : OTHERS;
    const before = this.#counts.get(key);
    this.#counts.set(key, before === undefined ? { name: key, count: 1, line } : { ...before, count: before.count + 1 });
  }

  /** Those since it was asked for last. */
  take(): UnknownName[] {
    const taken = [...this.#counts.values()];
    if (taken.length > 0) this.#counts = new Map();
    return taken;
  }
}
