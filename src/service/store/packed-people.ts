/** People who were made ready, as columns. Pure. */
import { NO_LIST, packedRecords, unpackedRecords, type PackedRecords, type Packer, type Unpacker } from './packed.ts';
import type { PreparedPerson } from './prepared-person.ts';

/** Of a person, the number that says this of them first. */
const NUMBERS = 10;
const TOO_LARGE = 1;
/** They have their mobile number and no other. */
const ONE_MOBILE = 2;
const LISTS = 4;
const DERIVED_EMPLOYER = 8;

export function packedPeople(people: readonly PreparedPerson[]): PackedRecords {
  return packedRecords(people, NUMBERS, pack);
}

function pack(packer: Packer, person: PreparedPerson): void {
  const { email, profile, id, name, domain, mobile, nameKey, status, newId, others, mobiles, otherNumbers, dropped } = person;
  const hasOneMobile = mobiles.length === 1 && mobiles[0] === mobile;
  const hasLists = others.length > 0 || otherNumbers.length > 0 || dropped.length > 0 || (mobiles.length > 0 && !hasOneMobile);
  packer.number((person.isTooLarge ? TOO_LARGE : 0) + (hasOneMobile ? ONE_MOBILE : 0) + (hasLists ? LISTS : 0) + (person.isEmployerDerived ? DERIVED_EMPLOYER : 0));
  packer.number(person.verifiedMs);
  packer.number(person.rank);
  packer.number(person.lacks);
  packer.number(person.atMs);
  packer.number(person.learntMs);
  packer.number(person.from);
  packer.number(person.to);
  packer.number(person.textFrom);
  packer.number(person.textTo);
  packer.text(email);
  packer.text(profile);
  packer.text(id);
  packer.text(name);
  packer.text(domain);
  packer.text(mobile);
  packer.text(nameKey, name);
  packer.text(status);
  packer.text(newId, id);
  if (hasLists) for (const list of [others, mobiles, otherNumbers, dropped]) packer.list(list);
}

export function unpackedPeople(packed: PackedRecords): PreparedPerson[] {
  return unpackedRecords(packed, unpack);
}

function unpack(from: Unpacker): PreparedPerson {
  const flags = from.number();
  const [verifiedMs, rank, lacks, atMs, learntMs] = [from.numberOrNull(), from.number(), from.numberOrNull(), from.number(), from.numberOrNull()];
  const [termsFrom, termsTo, textFrom, textTo] = [from.number(), from.number(), from.number(), from.number()];
  const [email, profile, id, name, domain, mobile] = [from.textOrNull(), from.textOrNull(), from.textOrNull(), from.textOrNull(), from.textOrNull(), from.textOrNull()];
  const [nameKey, status, newId] = [from.text(name), from.textOrNull(), from.text(id)];
  const hasLists = (flags & LISTS) !== 0;
  const others = hasLists ? from.list() : NO_LIST;
  const listed = hasLists ? from.list() : NO_LIST;
  const mobiles = (flags & ONE_MOBILE) !== 0 ? [mobile as string] : listed;
  const [otherNumbers, dropped] = hasLists ? [from.list(), from.list()] : [NO_LIST, NO_LIST];
  return {
    email, profile, id, name, domain, mobile, nameKey, status, verifiedMs, rank, lacks, newId, others, mobiles, otherNumbers, isTooLarge: (flags & TOO_LARGE) !== 0, dropped, atMs, learntMs,
    isEmployerDerived: (flags & DERIVED_EMPLOYER) !== 0,
    from: termsFrom, to: termsTo, textFrom, textTo,
  };
}
