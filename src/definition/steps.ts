/** The steps, in the order in which a record passes them. */
export const STEPS = ['enrich', 'verify', 'company', 'reveal'] as const;

export type Step = (typeof STEPS)[number];

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
