/** The rates below which a finished run exits with 1. Pure. */

const ALERTS = ['matchRateBelow', 'peopleMatchRateBelow', 'companyMatchRateBelow', 'deliverableBelow'] as const;
type Alert = (typeof ALERTS)[number];

/** Shares, 0 to 1; null without that alert. */
export type Alerts = Readonly<Record<Alert, number | null>>;

export function eachAlert(of: (name: Alert) => number | null): Alerts {
  return Object.fromEntries(ALERTS.map((name) => [name, of(name)])) as Alerts;
}
