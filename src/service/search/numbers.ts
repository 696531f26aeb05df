/** Numbers as sets of rows, one for each binary digit, so that a range is found by a few operations on sets. Pure. */
import { DAY_MS, plainDay } from '../days.ts';

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

/** Days since 1970 of an ISO date or time; null when it is none. Days before count as the first. */
export function dayOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const plain = plainDay(text);
  if (plain !== null) return Math.max(0, plain);
  const ms = Date.parse(text.slice(0, 10));
  return Number.isNaN(ms) ? null : Math.max(0, Math.floor(ms / DAY_MS));
}

/** A number as it is kept. */
export function keptNumber(name: NumberName, value: number): number {
  return Math.max(0, Math.min(GREATEST[name], Math.round(value) + NUMBERS[name].bias));
}

const GREATEST = Object.fromEntries(Object.entries(NUMBERS).map(([name, { bits }]) => [name, 2 ** bits - 1])) as Readonly<Record<NumberName, number>>;

/** Below so many digits V8 reckons with whole numbers. */
const LOW_DIGITS = 30;
const LOW_SIZE = 2 ** LOW_DIGITS;

/** Tells the binary digits of a kept number that are 1, from the lowest. */
export function forEachDigit(kept: number, tell: (digit: number) => void): void {
  for (let digit = 0, rest = kept < LOW_SIZE ? kept : kept % LOW_SIZE; rest !== 0; digit++, rest >>>= 1) if ((rest & 1) === 1) tell(digit);
  if (kept < LOW_SIZE) return;
  for (let digit = LOW_DIGITS, rest = Math.floor(kept / LOW_SIZE); rest !== 0; digit++, rest >>>= 1) if ((rest & 1) === 1) tell(digit);
}

/** Beside the stem, which says that a number is known, there is a term for each of its digits that is 1. */
export function digitTerm(stem: string, digit: number): string {
  return `${stem}:${digit}`;
}

export function numberStem(name: NumberName, of = ''): string {
  return `#${name}${of === '' ? '' : `.${of}`}`;
}
