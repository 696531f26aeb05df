import type { CompiledJob } from '../definition/compiled-job.ts';
import type { LookupKind } from '../definition/steps.ts';
import type { InputManifest } from '../formats/input-record.ts';
import { keysFor, type KeyOrders, type KeyRule, type KeysOf } from './lookup-keys.ts';
import { rowFilter } from './row-filter.ts';

/** Loads the key rule of a job. */
export async function loadKeys(
  { steps, input, enrich, reveal, waterfalls }: Pick<CompiledJob, 'steps' | 'input' | 'enrich' | 'reveal' | 'waterfalls'>,
  manifest: InputManifest,
): Promise<KeysOf> {
  // The service takes a name with the domain, else with the name of the company.
  const usual = reveal.by.flatMap((by): LookupKind[] => (by === 'name' ? [by, 'company'] : [by]));
  const rule = await loadRule(steps, { enrich: waterfalls.enrich?.keys ?? [enrich.by], reveal: waterfalls.reveal?.keys ?? [usual] });
  const isWanted = rowFilter(manifest, input.where);
  return (record) => (isWanted(record) ? rule(record) : 'skipped');
}

/** The lists of free providers take a fifth of a second to load, and only company needs them. */
async function loadRule(steps: CompiledJob['steps'], orders: KeyOrders): Promise<KeyRule> {
  if (!steps.includes('company')) return keysFor(steps, () => false, orders);
  const { namesNoEmployer } = await import('../verification/lists.ts');
  return keysFor(steps, namesNoEmployer, orders);
}
