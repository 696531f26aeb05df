/** `{date}`, `{date:-1d}`, `{date:Europe/Berlin}` and `{env:NAME}` in URIs. Pure: the day and the environment are handed in. */
import { ConfigError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, placeOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';

const DAY_MS = 86_400_000;
/** A placeholder. Braces with a comma or `..` are alternatives and ranges of a glob. */
const PLACEHOLDER = /\{(?![^{}]*(?:,|\.\.))([^{}]*)\}/g;
/** Days from the day, and a name of the IANA time zone database. */
const DATE = /^date(?::([+-]\d{1,5})d)?(?::([A-Za-z][\w+/-]*))?$/;
const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;
const HINT = 'Known: {date}, {date:-1d}, {date:Europe/Berlin} and {env:NAME}. Braces with a comma, such as {a,b}, are a glob.';

function placeholderMeant(word: string): string | null {
  if (/^date[+-]?\s*:?\s*[+-]?\s*\d+d?$/i.test(word)) return `{date:${word.includes('+') ? '+' : '-'}${/\d+/.exec(word)?.[0]}d}`;
  if (/^\$?env[:.]/i.test(word)) return `{env:${word.slice(word.search(/[:.]/) + 1)}}`;
  return nearest(word, ['date']) === null ? null : '{date}';
}

/** The day for which a run asks. */
export interface RunDay {
  /** YYYY-MM-DD: `--date`, else today in UTC. */
  readonly date: string;
  /** `--date`, else today in that time zone. @throws RangeError when there is no such zone */
  readonly dateIn: (zone: string) => string;
}

export interface ExpandContext extends RunDay {
  readonly env: NodeJS.ProcessEnv;
}

/** @param date `--date`; null: today @param daysAgo how many days earlier */
export function runDay(date: string | null, now: Date, daysAgo = 0): RunDay {
  return {
    date: shiftDate(date ?? now.toISOString().slice(0, 10), -daysAgo),
    dateIn: (zone) => {
      const today = dateInZone(now, zone);
      return shiftDate(date ?? today, -daysAgo);
    },
  };
}

function dateInZone(now: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`;
}

/** The day that `--date` would name to get the same URIs again, by the first date in them; null without one. */
export function dayOf(uris: readonly string[], { date, dateIn }: RunDay): string | null {
  for (const uri of uris)
    for (const [, word = ''] of uri.matchAll(PLACEHOLDER)) {
      const found = DATE.exec(word);
      if (found !== null) return found[2] === undefined ? date : dateIn(found[2]);
    }
  return null;
}

/** True for an existing calendar day, written YYYY-MM-DD (RFC 3339 full-date). */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}

/** The date `days` later (negative: earlier), YYYY-MM-DD. */
export function shiftDate(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** A monthly job still finds its last output. */
const EARLIER_DAYS = 31;

/** A dated uri on each of the days before, the latest first. Empty for a uri without a date. @param on the uri that many days ago */
export function onEarlierDays(uri: string, on: (daysAgo: number) => string): string[] {
  return on(1) === uri ? [] : Array.from({ length: EARLIER_DAYS }, (_, i) => on(i + 1));
}

/** Expands `~/`, which a shell does not expand in a job file, a variable or `--input=~/x`. */
export function inHome(path: string, origin: Origin, { env }: Pick<ExpandContext, 'env'>): string {
  if (path !== '~' && !path.startsWith('~/')) return path;
  const home = env['HOME'] ?? '';
  if (home === '')
    throw new ConfigError('env_missing', `${originName(origin)} begins with ~, and the variable HOME is not set${placeOf(origin)}`, {
      hint: 'Write the whole path.',
    });
  return `${home.replace(/\/+$/, '')}${path.slice(1)}`;
}

/**
 * Expands `~/` and the placeholders of one URI. The value of a variable is not expanded again.
 * @throws UsageError or ConfigError (by the URI's origin) for unknown placeholders; ConfigError for unset variables
 */
export function expand(uri: string, origin: Origin, surroundings: ExpandContext): string {
  return inHome(uri, origin, surroundings).replaceAll(PLACEHOLDER, (whole, word: string) => {
    const date = DATE.exec(word);
    if (date !== null) return shiftDate(dateOf(date[2], whole, origin, surroundings), Number(date[1] ?? '0'));
    const name = VARIABLE.exec(word)?.[1];
    if (name === undefined)
      throw refusal(
        origin,
        'bad_placeholder',
        `${originName(origin)}: ${show(whole)} is none of the placeholders${didYouMean(placeholderMeant(word))}`,
        HINT,
      );
    if (name.startsWith('MILLRACE_API_KEY')) {
      throw refusal(
        origin,
        'key_in_job',
        `${originName(origin)}: the API key does not belong in a path`,
        'Paths appear in logs, reports and checkpoints.',
      );
    }
    const value = surroundings.env[name];
    if (value === undefined || value === '') {
      throw new ConfigError('env_missing', `${originName(origin)} needs the variable ${name}, which is not set${placeOf(origin)}`, {
        hint: `Set ${name}, or write its value in place of {env:${name}}.`,
      });
    }
    return value;
  });
}

function dateOf(zone: string | undefined, whole: string, origin: Origin, { date, dateIn }: RunDay): string {
  if (zone === undefined) return date;
  try {
    return dateIn(zone);
  } catch {
    throw refusal(
      origin,
      'bad_placeholder',
      `${originName(origin)}: ${show(whole)} names no time zone`,
      'Write one such as Europe/Berlin.',
    );
  }
}
