import type { CompiledJob } from '../definition/compiled-job.ts';
import type { InputManifest } from '../formats/input-record.ts';
import { LruMap } from '../util/lru-map.ts';
import { kindOfSource } from '../steps/keys.ts';
import { specOf } from '../steps/registry.ts';
import { keysFor, type KeyRule, type KeysOf } from './lookup-keys.ts';
import type { SuppressedPeople } from './suppressed-people.ts';
import { rowFilter } from './row-filter.ts';

/** Texts of a column of countries that are remembered. */
const COUNTRIES = 1_000;
/** Longer text is no country. */
const LONGEST_COUNTRY = 100;

/** Loads the key rule of a job. @param suppressed people who are never asked about */
export async function loadKeys(
  job: Pick<CompiledJob, 'steps' | 'ownSteps' | 'input' | 'waterfalls'>,
  manifest: InputManifest,
  suppressed: SuppressedPeople | null = null,
): Promise<KeysOf> {
  const rule = await loadRule(job);
  const isWanted = rowFilter(manifest, job.input.where);
  return (record) => (!isWanted(record) ? 'skipped' : suppressed?.has(record.email) === true ? 'suppressed' : rule(record));
}

/** The lists of free providers and of countries take a fifth of a second to load, and few steps need them. */
async function loadRule({
  steps,
  ownSteps,
  waterfalls,
  input: { country },
}: Pick<CompiledJob, 'steps' | 'ownSteps' | 'input' | 'waterfalls'>): Promise<KeyRule> {
  const orders = Object.fromEntries(Object.entries(waterfalls).map(([step, { keys }]) => [step, keys]));
  const isFree = steps.some((step) => specOf(step).takesDomainOfAddress)
    ? (await import('../verification/lists.ts')).namesNoEmployer
    : (): boolean => false;
  const usesPhone = Object.values(orders)
    .flat(2)
    .some((source) => kindOfSource(source) === 'phone');
  if (!usesPhone) return keysFor(steps, isFree, orders, undefined, ownSteps);
  const { findCountry } = await import('../verification/countries.ts');
  const known = new LruMap<string, { readonly code: string | null }>(COUNTRIES);
  return keysFor(
    steps,
    isFree,
    orders,
    (cell) => {
      if (cell === '' || cell.length > LONGEST_COUNTRY) return country;
      let found = known.get(cell);
      if (found === undefined) known.set(cell, (found = { code: findCountry(cell) }));
      return found.code ?? country;
    },
    ownSteps,
  );
}
