/** The reference model of identity: docs/decisions/merging.md in plain code, over all rows at once, and slowly. */
import { normalise } from '../../../src/service/records/normalise.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import {
  allNames,
  formerAddresses,
  formerMobiles,
  formerProfiles,
  haveAWordInCommon,
  isLikelyOf,
  isNameOf,
  isRoleAddress,
  listed,
  listedAddresses,
  mainAddress,
  mainProfile,
  mayBeOne,
  mobilesOf,
  nameAndDomain,
  nameIn,
  nameWords,
  newest,
  numbersOf,
  otherAddresses,
  otherIds,
  put,
  some,
  verdict,
  workDomain,
  type Person,
  type Row,
  type Stamped,
} from './plain-person.ts';

const FIELDS = ['email', 'linkedin_url', 'first_name', 'last_name', 'title', 'mobile', 'personal_emails'] as const;

export class PlainPeople {
  people: Person[] = [];
  readonly #companies = new Map<string, string>();
  readonly #erased = new Set<string>();
  /** The first person of each main address, until they leave it. */
  readonly #owners = new Map<string, Person>();

  /** False when the person asked to be removed. */
  put(row: Row): boolean {
    if (this.#isErased(row)) return false;
    const { name, domain = workDomain(row) } = row.company ?? {};
    if (name !== undefined && domain !== undefined) this.#companies.set(domain, name);
    const known = this.find(row);
    if (known === undefined) this.#add(row);
    else known.rows.push(row);
    this.#passAddressesOn();
    return true;
  }

  #passAddressesOn(): void {
    for (const [address, owner] of this.#owners)
      if (!this.people.includes(owner) || mainAddress(owner) !== address) this.#owners.delete(address);
    for (const one of this.people) {
      const address = mainAddress(one);
      if (address !== undefined && !this.#owners.has(address)) this.#owners.set(address, one);
    }
  }

  find(row: Row): Person | undefined {
    const { id, email, linkedin_url: profile } = row;
    const main = email === undefined ? undefined : this.#owners.get(email);
    if (main !== undefined && isRoleAddress(email as string) ? mayBeOne(row, main) : main !== undefined && haveAWordInCommon(row, main))
      return main;
    const hasCompatibleName = (one: Person): boolean => isNameOf(row, one);
    const isCompatible = (one: Person): boolean => mayBeOne(row, one);
    const first = (
      key: string | undefined,
      keysOf: (one: Person) => readonly (string | null | undefined)[],
      test: (one: Person) => boolean = () => true,
    ): Person | undefined => (key === undefined ? undefined : this.people.find((one) => keysOf(one).includes(key) && test(one)));
    const generatedFrom = `${id}\n${normalise(nameIn([row]))}`;
    const found =
      first(profile, (one) => [mainProfile(one)]) ??
      first(email, (one) => (one === main ? [] : [mainAddress(one), ...otherAddresses(one)]), isCompatible) ??
      first(profile, formerProfiles, hasCompatibleName) ??
      first(id, (one) => [one.distinctId], isCompatible) ??
      first(id, otherIds, isCompatible) ??
      (id !== undefined && this.people.some(({ distinctId }) => distinctId === id)
        ? first(generatedFrom, (one) => [one.generatedFrom])
        : undefined) ??
      (main !== undefined && !isRoleAddress(email as string) && isLikelyOf(row, main) ? main : undefined);
    if (found !== undefined || email !== undefined || profile !== undefined || id !== undefined) return found;
    const key = nameAndDomain(nameIn([row]), this.employer([row])['company_domain']);
    const same = this.people.filter((one) => nameAndDomain(nameIn(one.rows), this.employer(one.rows)['company_domain']) === key);
    return same.length === 1 ? same[0] : same.find((one) => one.generatedFrom === key);
  }

  /** The people who are found by a key. */
  foundBy(by: 'email' | 'profile' | 'id', key: string): Person | undefined {
    const [mainOf, othersOf] = {
      email: [mainAddress, otherAddresses] as const,
      profile: [mainProfile, formerProfiles] as const,
      id: [({ distinctId }: Person) => distinctId, otherIds] as const,
    }[by];
    const have = this.people.filter((one) => (by === 'email' ? this.#owners.get(key) === one : mainOf(one) === key));
    const latest = have
      .map((one) => String(this.shown(one)['updated_at']))
      .toSorted()
      .at(-1);
    const others = this.people.filter((one) => othersOf(one).includes(key));
    return have.find((one) => this.shown(one)['updated_at'] === latest) ?? (by === 'email' || others.length === 1 ? others[0] : undefined);
  }

  /** Whether an address, a profile or an id belonged to an erased person. */
  isErasedBy(key: string): boolean {
    return [...this.#erased].some((one) => one === key || one.startsWith(`id:${key} `));
  }

  /** Erases every holder of an address, and everybody whom their addresses and profiles connect. */
  suppress(email: string): void {
    const [keys, gone] = [
      new Set([email]),
      new Set(this.people.filter((one) => [mainAddress(one), ...otherAddresses(one)].includes(email))),
    ];
    for (let before = -1; before < gone.size;) {
      before = gone.size;
      for (const one of gone) for (const key of this.#leadsOf(one)) keys.add(key);
      for (const one of this.people) if (this.#leadsOf(one).some((key) => keys.has(key))) gone.add(one);
    }
    this.people = this.people.filter((one) => !gone.has(one));
    this.#passAddressesOn();
    for (const key of keys) this.#erased.add(key);
    for (const one of gone) {
      for (const number of mobilesOf(this.shown(one)))
        if (!this.people.some((other) => numbersOf(this.shown(other)).includes(number))) this.#erased.add(number);
      const functions = [mainAddress(one), ...otherAddresses(one)].filter((address) => address !== undefined && isRoleAddress(address));
      for (const word of [nameIn(one.rows), ...allNames(one)].flatMap(nameWords)) {
        for (const id of [one.distinctId, ...otherIds(one)]) if (id !== null) this.#erased.add(`id:${id} ${word}`);
        for (const address of functions) this.#erased.add(`${address} ${word}`);
      }
    }
  }

  /** Addresses and profiles that identify this person alone: not those of a function, and no former ones that another person has now. */
  #leadsOf(person: Person): string[] {
    const asRow = { name: nameIn(person.rows), linkedin_url: mainProfile(person), updated_at: '' } as Row;
    const isAnothers = (key: string): boolean =>
      this.people.some(
        (one) =>
          one !== person && ((mainAddress(one) === key && !mayBeOne(asRow, one)) || (mainProfile(one) === key && !isNameOf(asRow, one))),
      );
    const former = [...formerAddresses(person), ...formerProfiles(person)];
    const addresses = [mainAddress(person), ...otherAddresses(person)].filter(
      (address) => address !== undefined && !isRoleAddress(address),
    );
    return [...addresses, mainProfile(person), ...formerProfiles(person)].filter(
      (key) => key !== undefined && !(former.includes(key) && isAnothers(key)),
    ) as string[];
  }

  /** A person as in an export, except a generated id. */
  shown(person: Person): SparseRecord {
    const { rows, distinctId } = person;
    const fields = new Map<string, Stamped<unknown>>();
    for (const field of FIELDS)
      put(
        fields,
        field,
        newest(rows, (row) => row[field]),
      );
    const name = newest(rows, ({ name: one }) => one);
    const [first, last] = [fields.get('first_name'), fields.get('last_name')];
    const isOutgrown = name !== null && [first, last].every((part) => part !== undefined && part.at > name.at);
    put(fields, 'name', isOutgrown ? null : name);
    put(fields, 'email_status', verdict(rows, mainAddress(person)));
    const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')));
    const formerEmails = formerAddresses(person).map((email) => ({ email, type: 'former', status: verdict(rows, email)?.value ?? null }));
    put(fields, 'emails', listed(emails, formerEmails, fields.get('email')));
    const phones = newest(rows, ({ phones: list }) => some(list?.filter(({ type }) => type !== 'former_mobile')));
    const formerNumbers = formerMobiles(person).filter((number) => phones?.value.some((one) => one.number === number) !== true);
    put(
      fields,
      'phones',
      listed(
        phones,
        formerNumbers.map((number) => ({ number, type: 'former_mobile' })),
        fields.get('mobile'),
      ),
    );
    const { at: employedAt, ...employer } = this.employer(rows);
    const times = [...[...fields.values()].map(({ at }) => at), ...(employedAt === undefined ? [] : [employedAt])];
    const known = Object.fromEntries([...fields].map(([field, { value }]) => [field, value]));
    const parts = nameIn(rows);
    return {
      ...known,
      ...(known['name'] === undefined && parts !== '' ? { name: parts } : {}),
      ...employer,
      ...(distinctId === null ? {} : { id: distinctId }),
      updated_at: `${times.toSorted().at(-1) ?? (rows[0] as Row).updated_at}T00:00:00Z`,
    };
  }

  /** The employer, and the time of its report. */
  employer(rows: readonly Row[]): { readonly company_domain?: string; readonly company_name?: string; readonly at?: string } {
    const reported = newest(rows, (row) => row.company?.domain ?? (row.company?.name === undefined ? undefined : workDomain(row)));
    const named = newest(rows, (row) =>
      row.company?.domain === undefined && workDomain(row) === undefined ? row.company?.name : undefined,
    );
    const derived = newest(rows, (row) => (row.company === undefined ? workDomain(row) : undefined));
    if (
      named !== null &&
      (reported === null || (named.at > reported.at && normalise(this.#companies.get(reported.value) ?? '') !== normalise(named.value)))
    )
      return { company_name: named.value, at: named.at };
    const works = reported ?? derived;
    return works === null ? {} : { company_domain: works.value, at: works.at };
  }

  #add(row: Row): void {
    const { id, email, linkedin_url: profile } = row;
    const isFree = !this.people.some(({ distinctId }) => distinctId === id) && !this.#isErasedId(id ?? '');
    const generatedFrom =
      id !== undefined
        ? `${id}\n${normalise(nameIn([row]))}`
        : email === undefined && profile === undefined
          ? nameAndDomain(nameIn([row]), this.employer([row])['company_domain'])
          : null;
    this.people.push({
      rows: [row],
      distinctId: id !== undefined && isFree ? id : null,
      generatedFrom: id !== undefined && isFree ? null : generatedFrom,
    });
  }

  #isErased(row: Row): boolean {
    const [{ email }, name] = [row, nameIn([row])];
    const keys = [email, row.linkedin_url, ...listedAddresses(row), ...mobilesOf({ ...row })];
    if (email !== undefined && isRoleAddress(email) && name !== '' && nameWords(name).some((word) => this.#erased.has(`${email} ${word}`)))
      return true;
    return keys.some((key) => this.#erased.has(key ?? '')) || this.#isErasedId(row.id ?? '', name);
  }

  /** @param name the erased person's name; the digests require one of its words, or that one side has no name */
  #isErasedId(id: string, name = ''): boolean {
    const keys = [...this.#erased].filter((key) => key.startsWith(`id:${id} `));
    return (
      keys.length > 0 && (name === '' || keys.includes(`id:${id} `) || nameWords(name).some((word) => keys.includes(`id:${id} ${word}`)))
    );
  }
}
