/** The people that every stand-in knows. Each is computed from its number, so that any count of them needs no memory. */

/** A person of the stand-ins' common world. None of them exists: domains end in `.example`, and no country has the code +999. */
export interface StandInPerson {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly title: string;
  readonly company: string;
  readonly domain: string;
  readonly linkedinUrl: string;
  /** In E.164 form. */
  readonly phone: string;
  readonly verdict: 'deliverable' | 'undeliverable' | 'risky' | 'unknown';
  /** Employees of the company: alike for all people of a domain. */
  readonly employees: number;
}

/** The keys of a lookup, in whatever form a vendor takes them. */
export interface StandInKeys {
  readonly email?: string | undefined;
  readonly linkedinUrl?: string | undefined;
  readonly phone?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** First and last name with a space between them. */
  readonly name?: string | undefined;
  readonly domain?: string | undefined;
  readonly company?: string | undefined;
}

/** A company of the world, by its domain. */
export interface StandInCompany {
  readonly number: number;
  readonly domain: string;
  readonly name: string;
  readonly employees: number;
  readonly industry: string;
}

export const PEOPLE_OF_A_COMPANY = 20;

const FIRST_NAMES = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve', 'Finn', 'Gia', 'Hugo', 'Ida', 'Jon', 'Kim', 'Leo'] as const;
const TITLES = ['Engineer', 'Head of Sales', 'Analyst', 'Operations Manager', 'Designer', 'Chief Financial Officer'] as const;
const INDUSTRIES = ['Software', 'Logistics', 'Retail', 'Farming'] as const;
const VERDICTS = ['deliverable', 'deliverable', 'deliverable', 'undeliverable', 'deliverable', 'risky', 'deliverable', 'unknown'] as const;
const PHONE_BASE = 100_000_000;
const SYLLABLES = 'bdfgklmnprstvz'.split('').flatMap((consonant) => 'aeiou'.split('').map((vowel) => consonant + vowel));
const NUMBER_OF_SYLLABLE = new Map(SYLLABLES.map((syllable, number) => [syllable, number]));

const pick = <T>(list: readonly T[], number: number): T => list[number % list.length] as T;

/** The same person for the same number. Addresses, profiles, phones and last names carry the number. */
export function personOf(index: number): StandInPerson {
  const { name: company, domain, employees } = companyOf(Math.floor(index / PEOPLE_OF_A_COMPANY));
  return {
    email: `person-${index}@${domain}`,
    firstName: pick(FIRST_NAMES, index),
    lastName: lastNameOf(index),
    title: pick(TITLES, index),
    company,
    domain,
    linkedinUrl: `https://www.linkedin.com/in/person-${index}`,
    phone: `+999${PHONE_BASE + index}`,
    verdict: pick(VERDICTS, index),
    employees,
  };
}

export function companyOf(number: number): StandInCompany {
  return {
    number,
    domain: `company-${number}.example`,
    name: `Company ${number}`,
    employees: 1 + ((number * 37) % 5_000),
    industry: pick(INDUSTRIES, number),
  };
}

/** The number of the person behind an address, a profile, a phone, or a name with its domain or company; null for others. */
export function findPerson(keys: StandInKeys): number | null {
  return byEmail(keys.email) ?? byProfile(keys.linkedinUrl) ?? byPhone(keys.phone) ?? byName(keys);
}

/** The company behind a domain or a name; null for others. */
export function findCompany(keys: { readonly domain?: string | undefined; readonly name?: string | undefined }): StandInCompany | null {
  const number = /^(?:https?:\/\/)?(?:www\.)?company-(\d+)\.example\/?$/i.exec(keys.domain ?? '')?.[1];
  const ofName = /^company (\d+)$/i.exec(keys.name ?? '')?.[1];
  const found = number ?? ofName;
  return found === undefined ? null : companyOf(Number(found));
}

function byEmail(email: string | undefined): number | null {
  const parts = /^person-(\d+)@company-(\d+)\.example$/i.exec(email ?? '');
  if (parts === null) return null;
  const index = Number(parts[1]);
  return Math.floor(index / PEOPLE_OF_A_COMPANY) === Number(parts[2]) ? index : null;
}

function byProfile(url: string | undefined): number | null {
  const number = /^(?:https?:\/\/)?(?:www\.)?linkedin\.com\/in\/person-(\d+)\/?$/i.exec(url ?? '')?.[1];
  return number === undefined ? null : Number(number);
}

function byPhone(phone: string | undefined): number | null {
  const number = /^\+?999(\d{9,})$/.exec((phone ?? '').replace(/[\s()-]/g, ''))?.[1];
  return number === undefined ? null : Number(number) - PHONE_BASE;
}

function byName({ firstName, lastName, name, domain, company }: StandInKeys): number | null {
  const spelled = name?.trim() ?? `${firstName ?? ''} ${lastName ?? ''}`.trim();
  const index = numberOfLastName(spelled.split(/\s+/).at(-1) ?? '');
  if (index === null) return null;
  const person = personOf(index);
  const isNamed = spelled.toLowerCase() === `${person.firstName} ${person.lastName}`.toLowerCase();
  const isThere = person.domain === findCompany({ domain, name: company })?.domain;
  return isNamed && isThere ? index : null;
}

function lastNameOf(index: number): string {
  let name = '';
  let rest = index;
  do {
    name = pick(SYLLABLES, rest) + name;
    rest = Math.floor(rest / SYLLABLES.length);
  } while (rest > 0);
  return `${(name[0] ?? '').toUpperCase()}${name.slice(1)}`;
}

function numberOfLastName(name: string): number | null {
  if (!/^(?:[a-z]{2})+$/i.test(name)) return null;
  let index = 0;
  for (const syllable of name.toLowerCase().match(/../g) ?? []) {
    const number = NUMBER_OF_SYLLABLE.get(syllable);
    if (number === undefined) return null;
    index = index * SYLLABLES.length + number;
  }
  return index;
}
