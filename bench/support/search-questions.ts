/** Generates searches: filters with values of the generated contacts, in any order. */
import { COMPANY_WORDS, DEPARTMENTS, INDUSTRIES, SENIORITIES, SKILLS, TECHNOLOGIES } from '../../fixtures/generate/business.ts';
import { CULTURES } from '../../fixtures/generate/cultures.ts';
import type { Random } from '../../fixtures/generate/random.ts';
import { SORTS } from '../../src/service/store/index/sort-keys.ts';
import type { Question } from './plain-search.ts';

const DRAWS: Readonly<Record<string, (random: Random) => string>> = {
  title: (random) => random.pick(random.pick(Object.values(DEPARTMENTS)))[0].split(' ')[0] ?? '',
  seniority: (random) => random.pick(SENIORITIES).name,
  department: (random) => random.pick(Object.keys(DEPARTMENTS)),
  skills: (random) => random.pick(random.pick(Object.values(SKILLS))),
  country: (random) => random.pick(CULTURES).code,
  years_experience: (random) => `${random.int(0, 10)}-${random.int(11, 25)}`,
  months_in_role: (random) => `${random.int(0, 30)}-`,
  updated_since: (random) => `2025-0${random.int(1, 9)}-01`,
  has_mobile: (random) => String(random.chance(0.5)),
  email_status: () => 'verified',
  headcount: (random) => `${random.int(1, 200)}-${random.int(201, 5_000)}`,
  revenue: (random) => `${random.int(1, 5)}000000-`,
  industry: (random) => random.pick(INDUSTRIES).industry,
  company: (random) => random.pick(COMPANY_WORDS),
  technologies_any: (random) => random.pick(TECHNOLOGIES)[0],
  exclude_technologies: (random) => random.pick(TECHNOLOGIES)[0],
  founded: (random) => `${random.int(1950, 1990)}-`,
  exclude_country: (random) => random.pick(CULTURES).code,
  q: (random) => random.pick(COMPANY_WORDS),
};

export interface Asked {
  readonly question: Question;
  /** True for the last page instead of the first. */
  readonly lastPage: boolean;
}

/** @param count different filters */
function question(random: Random, count: number): Question {
  const names = random.some(Object.keys(DRAWS), count);
  return {
    filters: Object.fromEntries(names.map((name) => [name, [DRAWS[name]?.(random) ?? '']])),
    sort: random.pick(SORTS),
    descending: random.chance(0.5),
  };
}

/** The groups of searches, by what determines their cost. */
export const GROUPS: readonly { readonly name: string; draw(random: Random): Asked }[] = [
  { name: 'one filter', draw: (random) => ({ question: question(random, 1), lastPage: false }) },
  { name: 'ten filters', draw: (random) => ({ question: question(random, 10), lastPage: false }) },
  { name: 'the last page of one filter', draw: (random) => ({ question: question(random, 1), lastPage: true }) },
  { name: 'the last page of everybody', draw: (random) => ({ question: question(random, 0), lastPage: true }) },
];
