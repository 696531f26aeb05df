/** One address or more for each thing that a domain or a mail host of `fixtures/mail-world.json` may do: the verdict, why, and the confidence. */
import type { Verdict } from '../../src/verification/types.ts';

export type Case = readonly [email: string, result: Verdict, reason: string, confidence: number];

export const CASES: Readonly<Record<string, readonly Case[]>> = {
  mailboxes: [
    ['jane@plain.test', 'deliverable', 'accepted', 97],
    ['"jane"@plain.test', 'deliverable', 'accepted', 97],
    ['info@plain.test', 'deliverable', 'accepted', 80],
    ['nobody@plain.test', 'undeliverable', 'no_mailbox', 0],
    ['full@plain.test', 'risky', 'mailbox_full', 40],
    ['over@plain.test', 'risky', 'mailbox_full', 40],
    ['off@plain.test', 'undeliverable', 'mailbox_disabled', 0],
    ['moved@plain.test', 'undeliverable', 'no_mailbox', 0],
    ['bare@plain.test', 'undeliverable', 'no_mailbox', 0],
  ],
  'words about us': [
    ['blocked@plain.test', 'unknown', 'policy_rejected', 30],
    ['bare-relay@plain.test', 'unknown', 'policy_rejected', 30],
    ['mute@plain.test', 'unknown', 'cannot_verify', 30],
    ['vague@plain.test', 'unknown', 'rejected', 30],
    ['odd@plain.test', 'unknown', 'rejected', 30],
    ['jane@guarded.test', 'deliverable', 'accepted', 97],
    ['jane@refuses.test', 'unknown', 'policy_rejected', 30],
    ['jane@rejects-sender.test', 'unknown', 'policy_rejected', 30],
  ],
  'refusals that need a comparison': [
    ['jane@tenant.test', 'deliverable', 'accepted', 97],
    ['nobody@tenant.test', 'undeliverable', 'no_mailbox', 0],
    ['jane@closed.test', 'unknown', 'rejected', 30],
    ['Jane.Doe@case.test', 'deliverable', 'accepted', 97],
  ],
  later: [
    ['later@plain.test', 'unknown', 'greylisted', 30],
    ['lying@plain.test', 'unknown', 'greylisted', 30],
    ['closing@plain.test', 'unknown', 'greylisted', 30],
    ['jane@grey.test', 'unknown', 'greylisted', 30],
    ['jane@forgets.test', 'unknown', 'greylisted', 30],
    ['jane@defers.test', 'unknown', 'greylisted', 30],
    ['jane@unsure.test', 'deliverable', 'accepted', 75],
    ['jane@busy.test', 'unknown', 'greylisted', 30],
  ],
  'accept-all': [
    ['jane@anybody.test', 'risky', 'accept_all', 50],
  ],
  'names in other scripts': [
    ['用户@utf8.test', 'deliverable', 'accepted', 97],
    ['jane@münchen.test', 'deliverable', 'accepted', 97],
    ['josé@münchen.test', 'unknown', 'smtputf8_unsupported', 30],
  ],
  DNS: [
    ['jane@implicit.test', 'deliverable', 'accepted', 87],
    ['jane@null-mx.test', 'undeliverable', 'null_mx', 0],
    ['jane@no-host.test', 'undeliverable', 'no_mail_host', 0],
    ['jane@lost-host.test', 'undeliverable', 'no_mail_host', 0],
    ['jane@nowhere.test', 'undeliverable', 'no_domain', 0],
    ['jane@servfail.test', 'unknown', 'dns_failed', 30],
    ['jane@not-auth.test', 'unknown', 'dns_failed', 30],
    ['jane@lame.test', 'unknown', 'dns_failed', 30],
    ['jane@lame-host.test', 'unknown', 'dns_failed', 30],
    ['jane@deputy.test', 'deliverable', 'accepted', 97],
    ['jane@beside-null.test', 'deliverable', 'accepted', 97],
  ],
  TLS: [
    ['jane@tls.test', 'deliverable', 'accepted', 97],
    ['jane@bad-tls.test', 'deliverable', 'accepted', 97],
  ],
  'broken hosts': [
    ['jane@dead.test', 'unknown', 'no_answer', 30],
    ['jane@hangs-up.test', 'unknown', 'no_answer', 30],
    ['jane@silent.test', 'unknown', 'no_answer', 30],
    ['jane@old.test', 'deliverable', 'accepted', 97],
    ['jane@drops.test', 'unknown', 'no_answer', 30],
    ['jane@all-drop.test', 'unknown', 'greylisted', 30],
    ['jane@stand-in.test', 'deliverable', 'accepted', 97],
    ['joe@stand-in.test', 'deliverable', 'accepted', 97],
    ['nobody@stand-in.test', 'undeliverable', 'no_mailbox', 0],
    ...[1, 2, 3, 4, 5, 6, 7].flatMap((n) => ['curt', 'tired'].map((host): Case => [`a${n}@${host}.test`, 'deliverable', 'accepted', 97])),
    ['nobody@tired.test', 'undeliverable', 'no_mailbox', 0],
    // It hangs up over the strangers of the probe: whether it takes anybody is not known.
    ['jane@shy.test', 'deliverable', 'accepted', 75],
    ['joe@shy.test', 'unknown', 'no_answer', 30],
    ['jane@slow-witted.test', 'deliverable', 'accepted', 97],
    ['nobody@slow-witted.test', 'undeliverable', 'no_mailbox', 0],
    ['jane@strict.test', 'deliverable', 'accepted', 97],
  ],
  'hostile hosts': [
    ['jane@endless.test', 'unknown', 'no_answer', 30],
    ['jane@binary.test', 'unknown', 'no_answer', 30],
    ['jane@drips.test', 'unknown', 'no_answer', 30],
    ['jane@chatty.test', 'unknown', 'no_answer', 30],
  ],
};
