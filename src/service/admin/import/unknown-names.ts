/** Counts names in a file that are not a field. Their values are dropped. Pure. */

/** Called for each name that is not a field and has a value. */
export type OnUnknown = (name: string) => void;

/** The values of a batch under one unknown name. */
export interface UnknownName {
  readonly name: string;
  readonly count: number;
  /** The line of the first value. */
  readonly line: number;
}

/** How many names are counted separately in a batch, and how many characters of each name are shown. */
const MAX_NAMES = 200;
const MAX_LENGTH = 60;
const OTHERS = '*';

/** The name under which values are counted. */
export function truncatedName(name: string): string {
  return name.slice(0, MAX_LENGTH);
}

export class UnknownNames {
  #counts = new Map<string, UnknownName>();

  add(name: string, line: number): void {
    const short = truncatedName(name);
    const key = this.#counts.has(short) || this.#counts.size < MAX_NAMES ? short : OTHERS;
    const before = this.#counts.get(key);
    this.#counts.set(key, before === undefined ? { name: key, count: 1, line } : { ...before, count: before.count + 1 });
  }

  /** Returns the names since the last `take`. */
  take(): UnknownName[] {
    const taken = [...this.#counts.values()];
    if (taken.length > 0) this.#counts = new Map();
    return taken;
  }
}
