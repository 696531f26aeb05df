import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dnsResolver } from '../../src/verification/dns/resolver.ts';
import { connectTo, smtpSettings } from '../../src/verification/smtp/settings.ts';
import type { EmailVerification } from '../../src/verification/types.ts';
import { Verifier } from '../../src/verification/verifier.ts';
import { REQUEST } from '../verification/in-world.ts';
import { ensurePackage, ensureRoot } from './debian.ts';
import { startMailServers, type MailServers } from './mail-servers.ts';

const ready = ensureRoot() && ensurePackage('bind9', 'named') && ensurePackage('postfix') && ensurePackage('postgrey');

describe.skipIf(!ready)('the verifier with BIND, Postfix and postgrey', () => {
  let servers: MailServers;
  beforeAll(async () => {
    servers = await startMailServers();
  });
  afterAll(() => servers.end());

  async function verify(emails: readonly string[]): Promise<EmailVerification[]> {
    const verifier = new Verifier({
      resolver: dnsResolver([servers.dnsServer]),
      smtp: smtpSettings({ ehloName: 'verifier.test', connect: connectTo(servers.smtpPort) }),
      privateAddresses: true,
      ownDns: true,
      clock: () => performance.now(),
      now: () => Date.now(),
    });
    try {
      return await verifier.verify(emails, REQUEST);
    } finally {
      verifier.close();
    }
  }

  const CASES: readonly (readonly [string, string, string, string | null])[] = [
    ['jane@plain.test', 'deliverable', 'accepted', null],
    ['nobody@plain.test', 'undeliverable', 'no_mailbox', '5.1.1'],
    ['full@plain.test', 'risky', 'mailbox_full', '4.2.2'],
    ['off@plain.test', 'undeliverable', 'mailbox_disabled', '5.2.1'],
    ['refused@plain.test', 'unknown', 'policy_rejected', '5.7.1'],
    ['anyone@anybody.test', 'risky', 'accept_all', null],
    ['jane@encrypted.test', 'deliverable', 'accepted', null],
    ['用户@encrypted.test', 'deliverable', 'accepted', null],
    ['jane@blocking.test', 'unknown', 'policy_rejected', '5.7.1'],
    ['jane@deputy.test', 'deliverable', 'accepted', null],
    ['jane@implicit.test', 'deliverable', 'accepted', null],
    // 81 MX records do not fit into UDP, so the answer comes by TCP.
    ['jane@many.test', 'deliverable', 'accepted', null],
    ['jane@null-mx.test', 'undeliverable', 'null_mx', null],
    ['jane@text-alone.test', 'undeliverable', 'no_mail_host', null],
    ['jane@nowhere.test', 'undeliverable', 'no_domain', null],
    ['jane@broken.test', 'unknown', 'dns_failed', null],
    // BIND only refers to another server, and the platform's resolver takes that for an empty answer.
    ['jane@delegated.test', 'unknown', 'dns_failed', null],
    ['jane@elsewhere.example', 'unknown', 'dns_failed', null],
  ];

  it('tells the verdict of each case', async () => {
    const found = await verify(CASES.map(([email]) => email));
    expect(
      found.map(({ email, result, reason, smtp }) => [
        email,
        result,
        reason,
        result === 'deliverable' || reason === 'accept_all' ? null : (smtp?.enhanced_code ?? null),
      ]),
    ).toEqual(CASES);
    expect(found.find(({ email }) => email === 'jane@encrypted.test')?.smtp).toMatchObject({ tls: true });
    expect(found.find(({ email }) => email === 'jane@many.test')?.mx?.records.length).toBe(81);
  });

  it('survives a server that hangs up after twenty unknown recipients, with three conversations at most', async () => {
    const emails = Array.from({ length: 150 }, (_, n) => `user${n}@plain.test`);
    const found = await verify([...emails, 'jane@plain.test']);
    expect(found.map(({ reason }) => reason)).toEqual([...emails.map(() => 'no_mailbox'), 'accepted']);
  });

  it('gets a greylisting at first, and an answer at the second attempt', async () => {
    const [first] = await verify(['jane@grey.test']);
    expect(first).toMatchObject({ result: 'unknown', reason: 'greylisted', smtp: { code: 450, greylisted: true } });
    expect(first?.retry_at).not.toBeNull();
    let again = first;
    while (again?.reason === 'greylisted') [again] = await verify(['jane@grey.test']);
    // Postfix refuses strangers before it asks postgrey.
    expect(again).toMatchObject({ result: 'deliverable', confidence: 97, flags: { accept_all: false } });
  });
});
