/** What the names of objects' members mean. Objects of one source have mostly the same names in the same order, so what came after a name before is looked at first. Pure. */

/** Distinct names that are remembered, of no more characters; hostile files have new ones in every row. */
const MAX_NAMES = 10_000;
const MAX_LENGTH = 200;

/** A name on the way through an object, and where the way went on from it before. */
export class MemberName<Meaning> {
  readonly name: string;
  readonly means: Meaning;
  /** No way leads to one that is not: it would be remembered by that. */
  readonly #isRemembered: boolean;
  readonly #find: (name: string) => MemberName<Meaning>;
  #next: MemberName<Meaning> | null = null;
  #other: MemberName<Meaning> | null = null;

  constructor(name: string, means: Meaning, find: (name: string) => MemberName<Meaning>, isRemembered: boolean) {
    this.name = name;
    this.means = means;
    this.#find = find;
    this.#isRemembered = isRemembered;
  }

  /** The name that comes after this one. */
  to(name: string): MemberName<Meaning> {
    const next = this.#next;
    if (next !== null && next.name === name) return next;
    const found = this.#other !== null && this.#other.name === name ? this.#other : this.#find(name);
    if (!found.#isRemembered) return found;
    this.#other = next;
    this.#next = found;
    return found;
  }
}

/** Where the way through an object begins: `means` stands for no name. @param meaningOf asked once a name, as a rule */
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
