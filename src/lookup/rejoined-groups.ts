/** Groups of lookups that the run before left behind, reassembled as they arrive. Pure. */

/** @typeParam G a group: its name and its number of lookups @typeParam M the data of a lookup */
export class RejoinedGroups<G extends { readonly id: string; readonly size: number }, M> {
  readonly #groups = new Map<string, { readonly group: G; readonly members: Map<string, M> }>();

  /** Groups that are not complete yet. */
  get incomplete(): number {
    return this.#groups.size;
  }

  /** @returns all members in the order of arrival, when this is the last one; else null */
  add(group: G, key: string, member: M): ReadonlyMap<string, M> | null {
    const { members } = this.#groups.get(group.id) ?? { members: new Map<string, M>() };
    this.#groups.set(group.id, { group, members });
    members.set(key, member);
    if (members.size < group.size) return null;
    this.#groups.delete(group.id);
    return members;
  }

  /** Takes all groups as they are: no more members arrive. */
  takeAll(): { readonly group: G; readonly members: ReadonlyMap<string, M> }[] {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    return groups;
  }
}
