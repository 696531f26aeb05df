/** The results of ZeroBounce, shaped as its pages v2-validate-emails, v2-status-codes and sandbox show them (read on 2026-11-26). */
import type { StandInPerson } from './world.ts';

export interface Finding {
  readonly status: 'valid' | 'invalid' | 'catch-all' | 'unknown' | 'spamtrap' | 'abuse' | 'do_not_mail';
  readonly subStatus: string;
  /** Null when the vendor knows no name of the owner. */
  readonly person: StandInPerson | null;
}

const sandbox = (name: string, status: Finding['status'], subStatus = ''): [string, Finding] => [
  `${name}@example.com`,
  { status, subStatus, person: null },
];

/** The vendor's test addresses. They cost no credit. */
export const SANDBOX: ReadonlyMap<string, Finding> = new Map([
  sandbox('valid', 'valid'),
  sandbox('invalid', 'invalid', 'mailbox_not_found'),
  sandbox('catch_all', 'catch-all'),
  sandbox('unknown', 'unknown', 'mail_server_temporary_error'),
  sandbox('spamtrap', 'spamtrap'),
  sandbox('abuse', 'abuse'),
  sandbox('donotmail', 'do_not_mail', 'role_based'),
  sandbox('disposable', 'do_not_mail', 'disposable'),
  sandbox('toxic', 'do_not_mail', 'toxic'),
]);

/** The record of one address. `now` is in milliseconds since the epoch. */
export function recordOf(email: string, { status, subStatus, person }: Finding, now: number): object {
  const isWellFormed = subStatus !== 'failed_syntax_check';
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1);
  return {
    address: email,
    status,
    sub_status: subStatus,
    free_email: false,
    did_you_mean: null,
    account: isWellFormed ? email.slice(0, at) : '',
    domain: isWellFormed ? domain : null,
    domain_age_days: isWellFormed ? '9692' : '',
    smtp_provider: isWellFormed ? 'example' : '',
    mx_found: String(isWellFormed),
    mx_record: isWellFormed ? `mx.${domain}` : null,
    firstname: person?.firstName || null,
    lastname: person?.lastName || null,
    gender: null,
    country: null,
    region: null,
    city: null,
    zipcode: null,
    processed_at: new Date(now).toISOString().replace('T', ' ').slice(0, -1),
  };
}
