/** The part of each provider in a record. Types only. */
import type { Step } from '../steps/registry.ts';

/**
 * The end of one lookup at one provider. `unavailable`: the provider was given up, and not asked. `settled`: a verdict that ended the step.
 */
export interface Contribution {
  readonly step: Step;
  readonly provider: string;
  readonly kind: 'matched' | 'missed' | 'suppressed' | 'failed' | 'unavailable';
  /** Fields of the row that are from this provider; of a verdict 1 when the row shows it. */
  readonly fields: number;
  /** The record had nothing of this step before: no earlier provider had matched. */
  readonly isFirst: boolean;
  /** The reason why there is no answer. */
  readonly code?: string;
}
