import type { Step } from '../steps/registry.ts';

/** The keys by which a step may look people up. `name` also needs the domain; for reveal the domain or the company. */
export const ENRICH_KEYS = ['email', 'linkedin_url', 'phone', 'name', 'domain'] as const;
export type EnrichKeyName = (typeof ENRICH_KEYS)[number];
export const REVEAL_KEYS = ['linkedin_url', 'email', 'phone', 'name'] as const;
export type RevealKeyName = (typeof REVEAL_KEYS)[number];

/** The keys of each step. */
export interface LookupKeyNames {
  readonly enrich: readonly EnrichKeyName[];
  readonly reveal: readonly RevealKeyName[];
}

/** Without `enrich.by` and `reveal.by`. */
export const USUAL_KEYS: LookupKeyNames = { enrich: ['email', 'domain'], reveal: ['linkedin_url'] };

/** The keys of a provider. `name` is a name with a domain, `company` a name with the name of a company. */
export type LookupKind = EnrichKeyName | 'company';

/** The kinds of keys by which these names look a person up at one provider: it takes a name with the domain, else with the company. */
export function usualKinds(by: readonly RevealKeyName[]): readonly LookupKind[] {
  return by.flatMap((name): LookupKind[] => (name === 'name' ? ['name', 'company'] : [name]));
}

/** Which providers a step asks, one after the other, and when the next one is asked. */
export interface Waterfall {
  /** Names of the job's providers, in order. */
  readonly from: readonly string[];
  /** The keys by which each of them is asked, in order of preference. */
  readonly keys: readonly (readonly LookupKind[])[];
  /**
   * The next provider is asked until a record has all of these fields; empty: until one knows the record. For verify: the verdicts that
   * settle an address.
   */
  readonly until: readonly string[];
  /** `merge`: later providers fill the empty fields of earlier ones. `whole`: the record of one provider. */
  readonly fields: 'merge' | 'whole';
}

/** By step. */
export type Waterfalls = Readonly<Partial<Record<Step, Waterfall>>>;
