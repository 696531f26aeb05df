/** Numbers as sets of rows, one for each binary digit, so that a range is found by a few operations on sets. Pure. */

/** Digits kept of each number; a larger one is kept as the largest. `bias` is added first, for numbers that may be negative. */
export const NUMBERS = {
  years_experience: { bits: 7, bias: 0 },
  role_started: { bits: 16, bias: 0 },
  company_since: { bits: 16, bias: 0 },
  job_changed: { bits: 16, bias: 0 },
  updated: { bits: 16, bias: 0 },
  employees: { bits: 24, bias: 0 },
  growth_12m: { bits: 15, bias: 1_000 },
  revenue: { bits: 44, bias: 0 },
  founded: { bits: 12, bias: 0 },
  funding_total: { bits: 40, bias: 0 },
  last_funding: { bits: 40, bias: 0 },
  last_funded: { bits: 16, bias: 0 },
  open_roles: { bits: 17, bias: 0 },
  hiring_posted: { bits: 16, bias: 0 },
  department_size: { bits: 20, bias: 0 },
  signal_day: { bits: 16, bias: 0 },
} as const;
export type NumberName = keyof typeof NUMBERS;

export const DAY_MS = 86_400_000;

/** Days since 1970 of an ISO date or time; null when it is none. Days before count as the first. */
export function dayOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const ms = Date.parse(text.slice(0, 10));
  return Number.isNaN(ms) ? null : Math.max(0, Math.floor(ms / DAY_MS));
}

/** A number as it is kept. */
export function keptNumber(name: NumberName, value: number): number {
  const { bits, bias } = NUMBERS[name];
  return Math.max(0, Math.min(2 ** bits - 1, Math.round(value) + bias));
}

/** Numbers of each stem whose terms are remembered; departments have as many names as people give them. */
const MAX_REMEMBERED = 20_000;
const MAX_STEMS = 1_000;
const remembered = new Map<string, Map<number, readonly string[]>>();

/** The terms of a number; `of` tells apart numbers of one kind, such as departments. The first says that it is known, the others which of its digits are 1. */
export function numberTerms(name: NumberName, value: number, of = ''): readonly string[] {
  const kept = keptNumber(name, value);
  const stem = numberStem(name, of);
  let known = remembered.get(stem);
  if (known === undefined || known.size >= MAX_REMEMBERED) {
    known = new Map();
    if (remembered.size >= MAX_STEMS) remembered.clear();
    remembered.set(stem, known);
  }
  let terms = known.get(kept);
  if (terms === undefined) {
    terms = [stem, ...Array.from({ length: NUMBERS[name].bits }, (_, bit) => bit).filter((bit) => Math.floor(kept / 2 ** bit) % 2 === 1).map((bit) => `${stem}:${bit}`)];
    known.set(kept, terms);
  }
  return terms;
}

export function numberStem(name: NumberName, of = ''): string {
  return `#${name}${of === '' ? '' : `.${of}`}`;
}
