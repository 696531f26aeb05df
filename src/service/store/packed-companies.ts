/** Companies that were made ready, as columns. Pure. */
import { NO_LIST, packedRecords, unpackedRecords, type PackedRecords, type Packer, type Unpacker } from './packed.ts';
import type { PreparedCompany } from './prepared-company.ts';

/** Of a company, the number that says this of it first. */
const NUMBERS = 9;
const TOO_LARGE = 1;
const ALIASES = 2;
const DROPPED = 4;

export function packedCompanies(companies: readonly PreparedCompany[]): PackedRecords {
  return packedRecords(companies, NUMBERS, pack);
}

function pack(packer: Packer, company: PreparedCompany): void {
  const { dropped } = company;
  packer.number((company.isTooLarge ? TOO_LARGE : 0) + (company.namesAliases ? ALIASES : 0) + (dropped.length > 0 ? DROPPED : 0));
  packer.number(company.acceptsAll);
  packer.number(company.employees);
  packer.number(company.lacks);
  packer.number(company.atMs);
  packer.number(company.from);
  packer.number(company.to);
  packer.number(company.textFrom);
  packer.number(company.textTo);
  packer.text(company.country);
  packer.text(company.industry);
  packer.text(company.emailPattern);
  packer.text(company.domain);
  packer.text(company.id);
  packer.text(company.newId, company.id);
  if (dropped.length > 0) packer.list(dropped);
}

export function unpackedCompanies(packed: PackedRecords): PreparedCompany[] {
  return unpackedRecords(packed, unpack);
}

function unpack(from: Unpacker): PreparedCompany {
  const flags = from.number();
  const [acceptsAll, employees, lacks, atMs] = [from.numberOrNull(), from.numberOrNull(), from.number(), from.number()];
  const [termsFrom, termsTo, textFrom, textTo] = [from.number(), from.number(), from.number(), from.number()];
  const [country, industry, emailPattern, domain, id] = [from.textOrNull(), from.textOrNull(), from.textOrNull(), from.text(), from.textOrNull()];
  return {
    country, industry, acceptsAll, emailPattern, employees, lacks, domain, id, newId: from.text(id), namesAliases: (flags & ALIASES) !== 0, isTooLarge: (flags & TOO_LARGE) !== 0, atMs,
    dropped: (flags & DROPPED) !== 0 ? from.list() : NO_LIST, from: termsFrom, to: termsTo, textFrom, textTo,
  };
}
