/** `{date}`, `{date:-1d}` and `{env:NAME}` in URIs. Pure: the date and the environment are handed in. */
import { ConfigError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, placeOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';

const DAY_MS = 86_400_000;
/** A placeholder. Braces with a comma or `..` are alternatives and ranges of a glob. */
const PLACEHOLDER = /\{(?![^{}]*(?:,|\.\.))([^{}]*)\}/g;
const SHIFTED_DATE = /^date(?::([+-]\d{1,5})d)?$/;
const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;
const HINT = 'Known: {date}, {date:-1d} and {env:NAME}. Braces with a comma, such as {a,b}, are a glob.';

function placeholderMeant(word: string): string | null {
  if (/^date[+-]?\s*:?\s*[+-]?\s*\d+d?$/i.test(word)) return `{date:${word.includes('+') ? '+' : '-'}${/\d+/.exec(word)?.[0]}d}`;
  if (/^\$?env[:.]/i.test(word)) return `{env:${word.slice(word.search(/[:.]/) + 1)}}`;
  return nearest(word, ['date']) === null ? null : '{date}';
}

export interface ExpandContext {
  /** YYYY-MM-DD, UTC. */
  readonly date: string;
  readonly env: NodeJS.ProcessEnv;
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
    const date = SHIFTED_DATE.exec(word);
    if (date !== null) return shiftDate(surroundings.date, Number(date[1] ?? '0'));
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
