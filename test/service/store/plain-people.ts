/** Who the people of a store are, by hand: what docs/decisions/merging.md says, over all rows at once, and slowly. */
import { fold } from '../../../src/service/fold.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import {
  allNames, formerAddresses, formerMobiles, formerProfiles, haveAWordInCommon, haveOneProfile, isNameOf, isOfFunction, listed, listedAddresses, mainAddress, mainProfile, mayBeOne, mobilesOf, nameAndDomain, nameIn, nameWords, newest, numbersOf, otherAddresses, otherIds, put, some, verdict, withoutMain, workDomain, type Person, type Row, type Told,
} from './plain-person.ts';

const FIELDS = ['email', 'linkedin_url', 'first_name', 'last_name', 'title', 'mobile', 'personal_emails'] as const;

export class PlainPeople {
  people: Person[] = [];
  readonly #companies = new Map<string, string>();
  readonly #erased = new Set<string>();

  /** False: they asked to be removed. */
  put(row: Row): boolean {
    if (this.#isErased(row)) return false;
    const { name, domain = workDomain(row) } = row.company ?? {};
    if (name !== undefined && domain !== undefined) this.#companies.set(domain, name);
    const known = this.find(row);
    const told = row.email !== undefined && this.people.some((one) => one !== known && mainAddress(one) === row.email) ? withoutMain(row) : row;
    if (known === undefined) this.#add(told);
    else known.rows.push(told);
    return true;
  }

  find(row: Row): Person | undefined {
    const { id, email, linkedin_url: profile } = row;
    const main = this.people.find((one) => email !== undefined && mainAddress(one) === email);
    if (main !== undefined && isOfFunction(email as string) ? mayBeOne(row, main) : main !== undefined && haveAWordInCommon(row, main)) return main;
    const isCalledSo = (one: Person): boolean => isNameOf(row, one);
    const mayBe = (one: Person): boolean => mayBeOne(row, one);
    const first = (key: string | undefined, keysOf: (one: Person) => readonly (string | null | undefined)[], test: (one: Person) => boolean = () => true): Person | undefined =>
      key === undefined ? undefined : this.people.find((one) => keysOf(one).includes(key) && test(one));
    const madeOf = `${id}\n${fold(nameIn([row]))}`;
    const found =
      first(profile, (one) => [mainProfile(one)]) ?? first(email, otherAddresses, mayBe) ?? first(profile, formerProfiles, isCalledSo) ??
      first(id, (one) => [one.ownId], mayBe) ?? first(id, otherIds, mayBe) ?? (id !== undefined && this.people.some(({ ownId }) => ownId === id) ? first(madeOf, (one) => [one.madeOf]) : undefined) ??
      (main !== undefined && !isOfFunction(email as string) && haveOneProfile(row, main) ? main : undefined);
    if (found !== undefined || email !== undefined || profile !== undefined || id !== undefined) return found;
    const key = nameAndDomain(nameIn([row]), this.employer([row])['company_domain']);
    const same = this.people.filter((one) => nameAndDomain(nameIn(one.rows), this.employer(one.rows)['company_domain']) === key);
    return same.length === 1 ? same[0] : same.find((one) => one.madeOf === key);
  }

  /** Who is answered for a key. */
  foundBy(by: 'email' | 'profile' | 'id', key: string): Person | undefined {
    const [mainOf, othersOf] = { email: [mainAddress, otherAddresses] as const, profile: [mainProfile, formerProfiles] as const, id: [({ ownId }: Person) => ownId, otherIds] as const }[by];
    const have = this.people.filter((one) => mainOf(one) === key);
    const latest = have.map((one) => String(this.shown(one)['updated_at'])).toSorted().at(-1);
    const others = this.people.filter((one) => othersOf(one).includes(key));
    return have.find((one) => this.shown(one)['updated_at'] === latest) ?? (by === 'email' || others.length === 1 ? others[0] : undefined);
  }

  /** Whether an address, a profile or an id was that of somebody who was erased. */
  isErasedBy(key: string): boolean {
    return [...this.#erased].some((one) => one === key || one.startsWith(`id:${key} `));
  }

  /** Erases whoever has an address, and all to whom their addresses and profiles lead. */
  suppress(email: string): void {
    const [keys, gone] = [new Set([email]), new Set(this.people.filter((one) => [mainAddress(one), ...otherAddresses(one)].includes(email)))];
    for (let before = -1; before < gone.size;) {
      before = gone.size;
      for (const one of gone) for (const key of this.#leadsOf(one)) keys.add(key);
      for (const one of this.people) if (this.#leadsOf(one).some((key) => keys.has(key))) gone.add(one);
    }
    this.people = this.people.filter((one) => !gone.has(one));
    for (const key of keys) this.#erased.add(key);
    for (const one of gone) {
      for (const number of mobilesOf(this.shown(one))) if (!this.people.some((other) => numbersOf(this.shown(other)).includes(number))) this.#erased.add(number);
      const functions = [mainAddress(one), ...otherAddresses(one)].filter((address) => address !== undefined && isOfFunction(address));
      for (const word of [nameIn(one.rows), ...allNames(one)].flatMap(nameWords)) {
        for (const id of [one.ownId, ...otherIds(one)]) if (id !== null) this.#erased.add(`id:${id} ${word}`);
        for (const address of functions) this.#erased.add(`${address} ${word}`);
      }
    }
  }

  /** Addresses and profiles that are of this person alone, as far as one can tell: not those of a function, and none that was theirs once and is somebody else's now. */
  #leadsOf(person: Person): string[] {
    const asRow = { name: nameIn(person.rows), linkedin_url: mainProfile(person), updated_at: '' } as Row;
    const isAnothers = (key: string): boolean =>
      this.people.some((one) => one !== person && ((mainAddress(one) === key && !mayBeOne(asRow, one)) || (mainProfile(one) === key && !isNameOf(asRow, one))));
    const former = [...formerAddresses(person), ...formerProfiles(person)];
    const addresses = [mainAddress(person), ...otherAddresses(person)].filter((address) => address !== undefined && !isOfFunction(address));
    return [...addresses, mainProfile(person), ...formerProfiles(person)].filter((key) => key !== undefined && !(former.includes(key) && isAnothers(key))) as string[];
  }

  /** A person as an export has them, but for an id that was made for them. */
  shown(person: Person): SparseRecord {
    const { rows, ownId } = person;
    const told = new Map<string, Told<unknown>>();
    for (const field of FIELDS) put(told, field, newest(rows, (row) => row[field]));
    const name = newest(rows, ({ name: one }) => one);
    const [first, last] = [told.get('first_name'), told.get('last_name')];
    const isOutgrown = name !== null && [first, last].every((part) => part !== undefined && part.at > name.at);
    put(told, 'name', isOutgrown ? null : name);
    put(told, 'email_status', verdict(rows, mainAddress(person)));
    const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')));
    const formerEmails = formerAddresses(person).map((email) => ({ email, type: 'former', status: verdict(rows, email)?.value ?? null }));
    put(told, 'emails', listed(emails, formerEmails, told.get('email')));
    const phones = newest(rows, ({ phones: list }) => some(list?.filter(({ type }) => type !== 'former_mobile')));
    const formerNumbers = formerMobiles(person).filter((number) => phones?.value.some((one) => one.number === number) !== true);
    put(told, 'phones', listed(phones, formerNumbers.map((number) => ({ number, type: 'former_mobile' })), told.get('mobile')));
    const { at: employedAt, ...employer } = this.employer(rows);
    const times = [...[...told.values()].map(({ at }) => at), ...(employedAt === undefined ? [] : [employedAt])];
    const known = Object.fromEntries([...told].map(([field, { value }]) => [field, value]));
    const parts = nameIn(rows);
    return { ...known, ...(known['name'] === undefined && parts !== '' ? { name: parts } : {}), ...employer, ...(ownId === null ? {} : { id: ownId }), updated_at: `${times.toSorted().at(-1) ?? (rows[0] as Row).updated_at}T00:00:00Z` };
  }

  /** Where they work, and of when that is. */
  employer(rows: readonly Row[]): { readonly company_domain?: string; readonly company_name?: string; readonly at?: string } {
    const given = newest(rows, (row) => row.company?.domain ?? (row.company?.name === undefined ? undefined : workDomain(row)));
    const named = newest(rows, (row) => (row.company?.domain === undefined && workDomain(row) === undefined ? row.company?.name : undefined));
    const derived = newest(rows, (row) => (row.company === undefined ? workDomain(row) : undefined));
    if (named !== null && (given === null || (named.at > given.at && fold(this.#companies.get(given.value) ?? '') !== fold(named.value)))) return { company_name: named.value, at: named.at };
    const works = given ?? derived;
    return works === null ? {} : { company_domain: works.value, at: works.at };
  }

  #add(row: Row): void {
    const { id, email, linkedin_url: profile } = row;
    const isFree = !this.people.some(({ ownId }) => ownId === id) && !this.#isErasedId(id ?? '');
    const madeOf = id !== undefined ? `${id}\n${fold(nameIn([row]))}` : email === undefined && profile === undefined ? nameAndDomain(nameIn([row]), this.employer([row])['company_domain']) : null;
    this.people.push({ rows: [row], ownId: id !== undefined && isFree ? id : null, madeOf: id !== undefined && isFree ? null : madeOf });
  }

  #isErased(row: Row): boolean {
    const [{ email }, name] = [row, nameIn([row])];
    const keys = [email, row.linkedin_url, ...listedAddresses(row), ...mobilesOf({ ...row })];
    if (email !== undefined && isOfFunction(email) && name !== '' && nameWords(name).some((word) => this.#erased.has(`${email} ${word}`))) return true;
    return keys.some((key) => this.#erased.has(key ?? '')) || this.#isErasedId(row.id ?? '', name);
  }

  /** @param name whose name has a word of the erased one's, or who have none of the two, are they */
  #isErasedId(id: string, name = ''): boolean {
    const keys = [...this.#erased].filter((key) => key.startsWith(`id:${id} `));
    return keys.length > 0 && (name === '' || keys.includes(`id:${id} `) || nameWords(name).some((word) => keys.includes(`id:${id} ${word}`)));
  }
}
