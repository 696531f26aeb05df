import type { CompiledJob } from '../definition/compiled-job.ts';
import type { InputManifest } from '../formats/input-record.ts';
import { eachStep, specOf } from '../steps/registry.ts';
import { keysFor, type KeyRule, type KeysOf } from './lookup-keys.ts';
import { rowFilter } from './row-filter.ts';

/** Loads the key rule of a job. */
export async function loadKeys(job: Pick<CompiledJob, 'steps' | 'input' | 'waterfalls'>, manifest: InputManifest): Promise<KeysOf> {
  const rule = await loadRule(job);
  const isWanted = rowFilter(manifest, job.input.where);
  return (record) => (isWanted(record) ? rule(record) : 'skipped');
}

/** The lists of free providers take a fifth of a second to load, and few steps need them. */
async function loadRule({ steps, waterfalls }: Pick<CompiledJob, 'steps' | 'waterfalls'>): Promise<KeyRule> {
  const orders = eachStep(({ name }) => waterfalls[name]?.keys ?? []);
  if (!steps.some((step) => specOf(step).takesDomainOfAddress)) return keysFor(steps, () => false, orders);
  const { namesNoEmployer } = await import('../verification/lists.ts');
  return keysFor(steps, namesNoEmployer, orders);
}
