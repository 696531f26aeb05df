/** The steps, in the order in which a record passes them. */
export const STEPS = ['enrich', 'verify', 'company', 'reveal'] as const;

export type Step = (typeof STEPS)[number];
