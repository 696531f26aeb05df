/** The status in a person record that follows from a verdict; null when the stored status stays. Pure. */
import type { Verdict } from '../../verification/types.ts';

export const STATUS_OF: Readonly<Record<Verdict, string | null>> = {
  deliverable: 'verified',
  undeliverable: 'bounced',
  risky: 'risky',
  unknown: null,
};
