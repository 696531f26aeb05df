/** The alerts that make a finished run exit with 1. Pure. */

/** `rowsBelow` and `rowsAbove` are shares of the last run's rows, the others shares of this run's answers. */
const ALERTS = ['matchRateBelow', 'peopleMatchRateBelow', 'companyMatchRateBelow', 'deliverableBelow', 'rowsBelow', 'rowsAbove'] as const;
type Alert = (typeof ALERTS)[number];

/** Shares, 1 is all; null without that alert. */
export interface Alerts extends Readonly<Record<Alert, number | null>> {
  /** Whether an input that the last run has had is an alert. */
  readonly sameInput: boolean;
}

export function eachAlert(of: (name: Alert) => number | null, sameInput = false): Alerts {
  return { ...(Object.fromEntries(ALERTS.map((name) => [name, of(name)])) as Record<Alert, number | null>), sameInput };
}
