/** Looks up the keys of filters: profiles and domains become rows, and circles become ids of places. */
import type { Steps } from '../../util/steps.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { ownerReader } from '../store/identity/domain-aliases.ts';
import { DomainIds } from '../store/index/domain-ids.ts';
import type { Store } from '../store/store.ts';
import { PlaceGrid } from './place-grid.ts';
import { PostingReader } from './posting-reader.ts';
import type { CompanyKeys, FilterGroup, PersonKeys, Predicate, PredicateGroup } from './predicate.ts';

export class FilterKeys {
  readonly #domains: DomainIds;
  readonly #ownerOf;
  readonly #profiles;
  readonly #places: PlaceGrid;

  constructor(store: Store) {
    this.#domains = new DomainIds(store);
    this.#ownerOf = ownerReader(store);
    this.#profiles = store.prepare('SELECT seq FROM people WHERE profile = ?');
    this.#places = new PlaceGrid(new PostingReader(store, 'person'));
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#places.invalidate();
  }

  *resolve(groups: readonly FilterGroup[]): Steps<PredicateGroup[]> {
    const resolved: PredicateGroup[] = [];
    for (const { person, company, exclude } of groups)
      resolved.push({
        ...(person === undefined ? {} : { person: yield* this.#ofPeople(person) }),
        ...(company === undefined ? {} : { company: yield* this.#ofCompanies(company) }),
        exclude,
      });
    return resolved;
  }

  *#ofPeople(asked: Predicate | PersonKeys): Steps<Predicate> {
    if (asked.kind === 'circles') return { kind: 'ids', ids: yield* this.#places.within(asked.circles) };
    if (asked.kind !== 'profiles') return asked;
    const rows: number[] = [];
    for (const url of asked.urls) {
      const key = profileKey(url);
      if (key !== null) for (const { seq } of this.#profiles.all(key)) rows.push(seq as number);
      yield 1;
    }
    return { kind: 'rows', rows };
  }

  *#ofCompanies(asked: Predicate | CompanyKeys): Steps<Predicate> {
    if (asked.kind !== 'domains') return asked;
    const rows: number[] = [];
    for (const domain of asked.domains) {
      // The company with this domain, or the domain itself where no company has it.
      const id = this.#domains.find(this.#ownerOf(domain) ?? domain);
      if (id !== null) rows.push(id);
      yield 1;
    }
    return { kind: 'rows', rows };
  }
}
