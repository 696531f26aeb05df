import type { KeySource } from '../steps/keys.ts';
import type { ByStep } from '../steps/registry.ts';

/** Which providers a step asks, one after the other, and when the next one is asked. */
export interface Waterfall {
  /** Names of the job's providers, in order. */
  readonly from: readonly string[];
  /** The keys by which each of them is asked, in order of preference. */
  readonly keys: readonly (readonly KeySource[])[];
  /**
   * The next provider is asked until a record has all of these fields; empty: until one knows the record. For verify: the verdicts that
   * settle an address.
   */
  readonly until: readonly string[];
  /** `merge`: later providers fill the empty fields of earlier ones. `whole`: the record of one provider. */
  readonly fields: 'merge' | 'whole';
}

/** By step. */
export type Waterfalls = ByStep<Waterfall>;

/** Whether a row may lack a field because a provider gave no answer: a step has another provider to go on with. */
export function mayLeaveOpen({ waterfalls }: { readonly waterfalls: Waterfalls }): boolean {
  return Object.values(waterfalls).some(({ from }) => from.length > 1);
}
