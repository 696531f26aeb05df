/** In the order in which a record goes through them. */
export const STEPS = ['enrich', 'verify', 'company', 'reveal'] as const;

export type Step = (typeof STEPS)[number];
