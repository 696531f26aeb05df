import type { CompiledJob } from '../definition/compiled-job.ts';
import type { InputManifest } from '../formats/input-record.ts';
import { keysFor, type KeyOrders, type KeyRule, type KeysOf } from './lookup-keys.ts';
import { rowFilter } from './row-filter.ts';

/** Loads the key rule of a job. */
export async function loadKeys(
  { steps, input, waterfalls }: Pick<CompiledJob, 'steps' | 'input' | 'waterfalls'>,
  manifest: InputManifest,
): Promise<KeysOf> {
  const rule = await loadRule(steps, { enrich: waterfalls.enrich?.keys ?? [], reveal: waterfalls.reveal?.keys ?? [] });
  const isWanted = rowFilter(manifest, input.where);
  return (record) => (isWanted(record) ? rule(record) : 'skipped');
}

/** The lists of free providers take a fifth of a second to load, and only company needs them. */
async function loadRule(steps: CompiledJob['steps'], orders: KeyOrders): Promise<KeyRule> {
  if (!steps.includes('company')) return keysFor(steps, () => false, orders);
  const { namesNoEmployer } = await import('../verification/lists.ts');
  return keysFor(steps, namesNoEmployer, orders);
}
