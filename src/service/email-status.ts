/** What a verdict makes of an address's status in a person record; null: it says nothing, so that what was known stays. Pure. */
import type { Verdict } from '../verification/types.ts';

export const STATUS_OF: Readonly<Record<Verdict, string | null>> = { deliverable: 'verified', undeliverable: 'bounced', risky: 'risky', unknown: null };
