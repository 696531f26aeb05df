/**
 * Maps the names of objects' members to their meaning. Objects of one source mostly have the same names in the same order, so the name that
 * followed last time is compared first. Pure.
 */

/** Limits of cached names, in number and in characters: hostile files have new names in every row. */
const MAX_NAMES = 10_000;
const MAX_LENGTH = 200;

/** A name, with the names that followed it before. */
export class MemberName<Meaning> {
  readonly name: string;
  readonly means: Meaning;
  /** Only cached names are linked as the next name of another. */
  readonly #isCached: boolean;
  readonly #find: (name: string) => MemberName<Meaning>;
  #next: MemberName<Meaning> | null = null;
  #other: MemberName<Meaning> | null = null;

  constructor(name: string, means: Meaning, find: (name: string) => MemberName<Meaning>, isRemembered: boolean) {
    this.name = name;
    this.means = means;
    this.#find = find;
    this.#isCached = isRemembered;
  }

  /** The node of the name that follows this one. */
  to(name: string): MemberName<Meaning> {
    const next = this.#next;
    if (next !== null && next.name === name) return next;
    const found = this.#other !== null && this.#other.name === name ? this.#other : this.#find(name);
    if (!found.#isCached) return found;
    this.#other = next;
    this.#next = found;
    return found;
  }
}

/** The node before the first name of an object. @param meaningOf called about once a name */
export function memberNames<Meaning>(means: Meaning, meaningOf: (name: string) => Meaning): MemberName<Meaning> {
  const known = new Map<string, MemberName<Meaning>>();
  const find = (name: string): MemberName<Meaning> => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const isRemembered = known.size < MAX_NAMES && name.length <= MAX_LENGTH;
    const found = new MemberName(name, meaningOf(name), find, isRemembered);
    if (isRemembered) known.set(name, found);
    return found;
  };
  return new MemberName('', means, find, true);
}
