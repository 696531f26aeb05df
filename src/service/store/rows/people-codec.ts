/** Encodes normalised people as columns. Pure. */
import { NO_LIST, encodeRecords, decodeRecords, type EncodedRecords, type RecordEncoder, type RecordDecoder } from './record-codec.ts';
import type { NormalisedPerson } from './normalised-person.ts';

/** Numbers of a person; the first holds the flags. */
const NUMBERS = 10;
const TOO_LARGE = 1;
/** The only mobile number is the main one. */
const ONE_MOBILE = 2;
const LISTS = 4;
const DERIVED_EMPLOYER = 8;

export function encodePeople(people: readonly NormalisedPerson[]): EncodedRecords {
  return encodeRecords(people, NUMBERS, encode);
}

function encode(to: RecordEncoder, person: NormalisedPerson): void {
  const { email, profile, id, name, domain, mobile, nameKey, status, newId, others, mobiles, otherNumbers, dropped } = person;
  const hasOneMobile = mobiles.length === 1 && mobiles[0] === mobile;
  const hasLists = others.length > 0 || otherNumbers.length > 0 || dropped.length > 0 || (mobiles.length > 0 && !hasOneMobile);
  to.number(
    (person.isTooLarge ? TOO_LARGE : 0) +
      (hasOneMobile ? ONE_MOBILE : 0) +
      (hasLists ? LISTS : 0) +
      (person.isEmployerDerived ? DERIVED_EMPLOYER : 0),
  );
  to.number(person.verifiedMs);
  to.number(person.rank);
  to.number(person.absentFields);
  to.number(person.atMs);
  to.number(person.verdictMs);
  to.number(person.from);
  to.number(person.to);
  to.number(person.textFrom);
  to.number(person.textTo);
  to.text(email);
  to.text(profile);
  to.text(id);
  to.text(name);
  to.text(domain);
  to.text(mobile);
  to.text(nameKey, name);
  to.text(status);
  to.text(newId, id);
  if (hasLists) for (const list of [others, mobiles, otherNumbers, dropped]) to.list(list);
}

export function decodePeople(encoded: EncodedRecords): NormalisedPerson[] {
  return decodeRecords(encoded, decode);
}

function decode(from: RecordDecoder): NormalisedPerson {
  const flags = from.number();
  const [verifiedMs, rank, absentFields, atMs, verdictMs] = [
    from.numberOrNull(),
    from.number(),
    from.numberOrNull(),
    from.number(),
    from.numberOrNull(),
  ];
  const [termsFrom, termsTo, textFrom, textTo] = [from.number(), from.number(), from.number(), from.number()];
  const [email, profile, id, name, domain, mobile] = [
    from.textOrNull(),
    from.textOrNull(),
    from.textOrNull(),
    from.textOrNull(),
    from.textOrNull(),
    from.textOrNull(),
  ];
  const [nameKey, status, newId] = [from.text(name), from.textOrNull(), from.text(id)];
  const hasLists = (flags & LISTS) !== 0;
  const others = hasLists ? from.list() : NO_LIST;
  const listed = hasLists ? from.list() : NO_LIST;
  const mobiles = (flags & ONE_MOBILE) !== 0 ? [mobile as string] : listed;
  const [otherNumbers, dropped] = hasLists ? [from.list(), from.list()] : [NO_LIST, NO_LIST];
  return {
    email,
    profile,
    id,
    name,
    domain,
    mobile,
    nameKey,
    status,
    verifiedMs,
    rank,
    absentFields,
    newId,
    others,
    mobiles,
    otherNumbers,
    isTooLarge: (flags & TOO_LARGE) !== 0,
    dropped,
    atMs,
    verdictMs,
    isEmployerDerived: (flags & DERIVED_EMPLOYER) !== 0,
    from: termsFrom,
    to: termsTo,
    textFrom,
    textTo,
  };
}
