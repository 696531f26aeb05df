/** Groups of addresses that a run before left behind, put together again as the addresses come by. Pure. */

/** @typeParam G what is known of a group: its name, and how many addresses it has. @typeParam M what is known of an address */
export class RejoinedGroups<G extends { readonly id: string; readonly size: number }, M> {
  readonly #groups = new Map<string, { readonly group: G; readonly members: Map<string, M> }>();

  /** Groups that miss an address. */
  get incomplete(): number {
    return this.#groups.size;
  }

  /** @returns all members, in the order in which they came, when this is the last one; else null */
  add(group: G, email: string, member: M): ReadonlyMap<string, M> | null {
    const { members } = this.#groups.get(group.id) ?? { members: new Map<string, M>() };
    this.#groups.set(group.id, { group, members });
    members.set(email, member);
    if (members.size < group.size) return null;
    this.#groups.delete(group.id);
    return members;
  }

  /** The groups as they are: no other member comes. */
  takeAll(): { readonly group: G; readonly members: ReadonlyMap<string, M> }[] {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    return groups;
  }
}
