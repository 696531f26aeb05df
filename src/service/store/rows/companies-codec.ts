/** Encodes normalised companies as columns. Pure. */
import { NO_LIST, encodeRecords, decodeRecords, type EncodedRecords, type RecordEncoder, type RecordDecoder } from './record-codec.ts';
import type { NormalisedCompany } from './normalised-company.ts';

/** Numbers of a company; the first holds its flags. */
const NUMBERS = 10;
const TOO_LARGE = 1;
const ALIASES = 2;
const DROPPED = 4;

export function encodeCompanies(companies: readonly NormalisedCompany[]): EncodedRecords {
  return encodeRecords(companies, NUMBERS, encode);
}

function encode(to: RecordEncoder, company: NormalisedCompany): void {
  const { dropped } = company;
  to.number((company.isTooLarge ? TOO_LARGE : 0) + (company.namesAliases ? ALIASES : 0) + (dropped.length > 0 ? DROPPED : 0));
  to.number(company.acceptsAll);
  to.number(company.employees);
  to.number(company.absentFields);
  to.number(company.atMs);
  to.number(company.report);
  to.number(company.from);
  to.number(company.to);
  to.number(company.textFrom);
  to.number(company.textTo);
  to.text(company.country);
  to.text(company.industry);
  to.text(company.emailPattern);
  to.text(company.domain);
  to.text(company.id);
  to.text(company.newId, company.id);
  if (dropped.length > 0) to.list(dropped);
}

export function decodeCompanies(encoded: EncodedRecords): NormalisedCompany[] {
  return decodeRecords(encoded, decode);
}

function decode(from: RecordDecoder): NormalisedCompany {
  const flags = from.number();
  const [acceptsAll, employees] = [from.numberOrNull(), from.numberOrNull()];
  const [absentFields, atMs, report] = [from.number(), from.number(), from.number()];
  const [termsFrom, termsTo, textFrom, textTo] = [from.number(), from.number(), from.number(), from.number()];
  const [country, industry, emailPattern, domain, id] = [
    from.textOrNull(),
    from.textOrNull(),
    from.textOrNull(),
    from.text(),
    from.textOrNull(),
  ];
  return {
    country,
    industry,
    acceptsAll,
    emailPattern,
    employees,
    absentFields,
    domain,
    id,
    newId: from.text(id),
    namesAliases: (flags & ALIASES) !== 0,
    isTooLarge: (flags & TOO_LARGE) !== 0,
    atMs,
    report,
    dropped: (flags & DROPPED) !== 0 ? from.list() : NO_LIST,
    from: termsFrom,
    to: termsTo,
    textFrom,
    textTo,
  };
}
