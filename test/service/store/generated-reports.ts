/** Generates rows from sources that know people well or badly, with the person of each row. The same seed gives the same rows. */
import { seeded } from '../../support/leads.ts';
import type { Row } from './plain-person.ts';

/** A row and its person. `mark` occurs in this row and in no other. */
export interface Report {
  readonly person: number;
  readonly mark: string;
  readonly row: Row;
}

export interface GeneratedReports {
  readonly reports: readonly Report[];
  /** Addresses that only one person ever had. */
  readonly ownAddresses: readonly (readonly string[])[];
}

/** Cases in every set: two namesakes, a person with a new surname, and two people who have one address one after the other. */
const NAMES = [
  ['Ada Example', 'Example, Ada Maria'],
  ['Ada Example'],
  ['Eve Noël', 'Eve Martin'],
  ['Max Stone'],
  ['Zoë O’Hara', "Zoe O'Hara"],
  ['Lin Wu'],
] as const;
const [PREDECESSOR, SUCCESSOR] = [3, 5];
/** The people who change their surname, and the day of the change. */
export const RENAMED = 2;
export const NAMESAKES: readonly number[] = [0, 1];
const FAMILY: readonly number[] = [2, 3];
const COMPANIES = [
  { name: 'Acme', domain: 'acme.example' },
  { name: 'Bolt', domain: 'bolt.example' },
] as const;
export const DESK = 'info@acme.example';
const PASSED_ON = 'north@acme.example';
const SWITCHBOARD = { number: '+12125550100', type: 'work' };
const FAMILY_PHONE = '+12125550199';
const STATUSES = ['verified', 'bounced'];
export const PEOPLE = NAMES.length;

/**
 * About `count` rows, each of a different day. It leaves out what no rule could report apart. Rows with a passed-on address have
 * profiles, and so have rows of namesakes. Rows with a function's address or a row number as id have names; rows with only name and company
 * are never a namesake's.
 * @param isShared some main addresses belong to several people
 * @param haveProfiles each row has its person's only profile
 */
export function generateReports(
  seed: number,
  count: number,
  { isShared, haveProfiles = false }: { readonly isShared: boolean; readonly haveProfiles?: boolean },
): GeneratedReports {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const often = (share = 0.5): boolean => random() < share;
  const ownAddresses = NAMES.map((_, n) => [
    `zq${n}.a@acme.example`,
    `zq${n}.b@bolt.example`,
    `zq${n}@gmail.com`,
    `zqq${n}.a@acme.example`,
  ]);
  const days = Array.from({ length: count }, (_, n) => n)
    .map((n) => ({ n, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ n }) => new Date(Date.UTC(2024, 0, 1 + n)).toISOString().slice(0, 10));
  const report = (_: unknown, at: number): Report => {
    const n = Math.floor(random() * PEOPLE);
    const day = days[at] as string;
    const isLate = day >= (days.toSorted()[Math.floor(count / 2)] as string);
    const mark = `zqm${n}x${at}z`;
    const profile = `profiles.example/in/zq${n}${isLate && !haveProfiles && n === RENAMED ? '-new' : ''}`;
    const own = ownAddresses[n] as readonly string[];
    const [first = '', second = ''] = own;
    const company = COMPANIES[isLate ? 1 : 0];
    const facts: Partial<Row> = {
      title: `Title ${mark}`,
      updated_at: day,
      ...(often() ? { mobile: FAMILY.includes(n) && often() ? FAMILY_PHONE : `+1646555${String(n)}${isLate ? '1' : '0'}00` } : {}),
      ...(often(0.3) ? { phones: [SWITCHBOARD] } : {}),
      ...(often() ? { company } : {}),
    };
    const named = { name: pick(NAMES[n] as readonly string[]) };
    const known = { ...named, linkedin_url: profile };
    const status = often(0.4) ? { email_status: pick(STATUSES) } : {};
    const rows: (Partial<Row> | null)[] = [
      { id: `crm-${n}`, email: isLate ? second : first, ...(often(0.8) ? named : {}), ...status },
      NAMESAKES.includes(n) ? null : { id: String(1 + Math.floor(random() * 4)), email: pick(own), ...named, ...status },
      { ...known, ...(often() ? { email: pick(own), ...status } : {}), ...(often(0.2) ? { personal_emails: [own[2] as string] } : {}) },
      !isShared ? null : { email: DESK, ...named, ...(NAMESAKES.includes(n) || often() ? known : {}), ...status },
      isShared && n === (isLate ? SUCCESSOR : PREDECESSOR) ? { email: PASSED_ON, ...known, ...status } : null,
      {
        email: pick(own),
        emails: [{ email: pick([DESK, ...own]), type: 'work', status: null }],
        ...(NAMESAKES.includes(n) ? known : named),
      },
      NAMESAKES.includes(n) ? null : { ...named, company },
    ];
    return {
      person: n,
      mark,
      row: { ...facts, ...pick(rows.filter((row) => row !== null)), ...(haveProfiles ? { linkedin_url: profile } : {}) } as Row,
    };
  };
  return { reports: days.map(report), ownAddresses };
}
