/** Formats a verification as text: the verdict, the result of each check, and the points. Pure. */
import type { ScoreFactor } from './score.ts';

const FACTORS: Readonly<Record<string, string>> = {
  accepted_not_accept_all: 'the server takes mail for it, and not for just anybody',
  accepted: 'the server takes mail for it; maybe for anybody',
  accept_all: 'the server takes mail for anybody at this domain',
  mailbox_full: 'the mailbox is there, and full',
  unknown: 'nothing speaks for or against the mailbox',
  not_checked: 'no mail server was asked',
  recorded_delivery: 'it is on record that mail arrived there',
  recorded_verdict: 'it is on record as verified',
  recorded_bounce: 'it is on record that mail came back from there',
  recorded_undeliverable: 'it is on record as undeliverable',
  undeliverable: 'mail would come back',
  fits_domain_pattern: "it is spelt like the domain's other addresses",
  delivered_in_90_days: 'and that was in the last 90 days',
  implicit_mx: 'the domain has no MX record, only an address',
  role: 'a function rather than a person',
  probable_typo: 'probably mistyped',
  cap: 'never more than 100',
  cap_disposable: 'a disposable address: never more than 20',
  cap_suspected_disposable: 'some lists call the domain disposable: never more than 60',
  cap_role: 'a role: never more than 80',
  cap_accept_all: 'accept-all: never more than 80',
  cap_unknown: 'not known: never more than 60',
};

/** The shown fields of a verification. Another service's may lack all but the verdict. */
export interface Shown {
  readonly email: string;
  readonly result: string;
  readonly reason: string | null;
  readonly confidence: number | null;
  readonly did_you_mean: string | null;
  readonly retry_at: string | null;
  readonly checks: readonly { readonly name: string; readonly result: string; readonly detail: string | null; readonly ms: number }[];
  readonly score_factors: readonly ScoreFactor[];
  readonly score_version: number | null;
}

/** The lines of the table without a final line end. Control characters are replaced. */
export function verificationTable(found: Shown): string {
  const head =
    `${found.email}   ${found.result}${found.reason === null ? '' : ` (${words(found.reason)})`}` +
    (found.confidence === null ? '' : `, confidence ${found.confidence}`);
  const rows = found.checks.map(
    ({ name, result, detail, ms }) => [name, words(result), detail ?? '', `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`] as const,
  );
  const points = found.score_factors.map(
    ({ factor, points }) => [points > 0 ? `+${points}` : String(points), FACTORS[factor] ?? words(factor)] as const,
  );
  const wide = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const rules = found.score_version === null ? '' : ` (rules of version ${found.score_version})`;
  return [
    head,
    ...(found.did_you_mean === null ? [] : [`  did you mean ${found.did_you_mean}?`]),
    ...(found.retry_at === null ? [] : [`  ask again at ${found.retry_at}`]),
    ...rows.map(([name, result, detail, time]) =>
      `  ${name.padEnd(wide[0] ?? 0)}  ${result.padEnd(wide[1] ?? 0)}  ${time.padStart(8)}  ${detail}`.trimEnd(),
    ),
    ...points.map(([amount, why]) => `  ${amount.padStart(4)}  ${why}`),
    ...(points.length === 0 ? [] : [`  ${String(found.confidence).padStart(4)}  confidence, 0 to 100${rules}`]),
  ]
    .map((line) => line.replaceAll(/\p{C}/gu, '\ufffd'))
    .join('\n');
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}
