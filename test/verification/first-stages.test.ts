import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { verificationTable } from '../../src/verification/table.ts';
import type { DomainEvidence, EmailVerification, MailboxEvidence, VerifyRequest } from '../../src/verification/types.ts';
import { Verifier } from '../../src/verification/verifier.ts';
import { NO_DNS } from './in-world.ts';

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;

async function verify(
  email: string,
  known: { mailbox?: MailboxEvidence; domain?: DomainEvidence; options?: Partial<VerifyRequest>; sample?: string } = {},
): Promise<EmailVerification> {
  let ticks = 0;
  const sample = known.sample === undefined ? {} : { sample: (domain: string) => domain === known.sample };
  const verifier = new Verifier({ resolver: NO_DNS, smtp: null, ownDns: true, now: () => NOW, clock: () => ticks++, ...sample });
  const evidence = { mailbox: () => (known.mailbox === undefined ? [] : [known.mailbox]), domain: () => known.domain ?? null };
  const [verdict] = await verifier.verify([email], { mode: 'full', maxAgeS: null, timeoutMs: 1_000, evidence, ...known.options });
  return verdict as EmailVerification;
}

describe('the stages without a network', () => {
  it.each([
    ['jane@', 'undeliverable', 'invalid_syntax', ['syntax']],
    ['jane@localhost', 'undeliverable', 'reserved_domain', ['syntax', 'lists', 'evidence']],
    ['jane@[192.0.2.1]', 'unknown', 'address_literal', ['syntax']],
    ['jane@[IPv6:2001:db8::1]', 'unknown', 'address_literal', ['syntax']],
    ['x@sub.mailinator.com', 'risky', 'disposable', ['syntax', 'lists', 'evidence']],
    ['jane@acme.example', 'unknown', 'dns_failed', ['syntax', 'lists', 'evidence', 'dns']],
  ])('%s is %s because of %s', async (email, result, reason, checks) => {
    const verdict = await verify(email);
    expect(verdict).toMatchObject({
      email,
      result,
      reason,
      verified: false,
      mx: null,
      smtp: null,
      attempts: 0,
      flags: { mailbox_full: false, disabled: false },
    });
    expect(verdict.checks.map(({ name }) => name)).toEqual(checks);
    expect(verdict.checks.every(({ ms }) => ms > 0)).toBe(true);
  });

  it.each([
    ['jane@acme.example', 'dns_failed'],
    ['jane@ACME.example.', 'dns_failed'],
    ['jane@elsewhere.example', 'not_in_sample'],
    ['jane@sub.acme.example', 'not_in_sample'],
    ['jane@gmial.com', 'not_in_sample'],
    ['info@acme.com', 'not_in_sample'],
    ['jane@', 'invalid_syntax'],
    ['jane@printer.local', 'reserved_domain'],
    ['x@mailinator.com', 'disposable'],
  ])('where the mail is a sample, %s is %s', async (email, reason) => {
    for (const mode of ['full', 'dns'] as const) {
      const verdict = await verify(email, { sample: 'acme.example', options: { mode } });
      expect(verdict.reason).toBe(reason);
      if (reason === 'not_in_sample') expect(verdict).toMatchObject({ result: 'unknown', verified: false, mx: null, smtp: null });
    }
    const bySyntax = await verify(email, { sample: 'acme.example', options: { mode: 'syntax' } });
    expect(bySyntax.reason).toBe((await verify(email, { options: { mode: 'syntax' } })).reason);
  });

  it.each(['mozmail.com', 'jane.anonaddy.com', 'duck.com', 'opayq.com'])(
    'flags a relay without lowering its confidence: %s',
    async (domain) => {
      const verdict = await verify(`jane@${domain}`, { mailbox: { kind: 'delivered', atMs: NOW } });
      expect(verdict).toMatchObject({ result: 'deliverable', confidence: 100, flags: { relay: true, disposable: false } });
      expect(verdict.score_factors.map(({ factor }) => factor)).toEqual(['recorded_delivery', 'delivered_in_90_days']);
      expect(verificationTable(verdict)).toMatch(/^ {2}lists +relay .*mail is forwarded to a mailbox elsewhere$/m);
      expect((await verify('jane@acme.example')).flags.relay).toBe(false);
    },
  );

  it('a recorded delivery or bounce outranks the appearance of the name', async () => {
    const learnt = NOW - 80 * DAY;
    const at = (days: number): string => new Date(learnt + days * DAY).toISOString();
    expect(await verify('info@gmial.com', { mailbox: { kind: 'delivered', atMs: learnt } })).toMatchObject({
      result: 'deliverable',
      verified: true,
      verified_at: at(0),
      expires_at: at(90),
      cached: true,
    });
    expect(await verify('jane@acme.example', { mailbox: { kind: 'bounced', atMs: learnt } })).toMatchObject({
      result: 'undeliverable',
      reason: 'recorded_bounce',
      confidence: 0,
      expires_at: at(365),
      score_factors: [{ factor: 'recorded_bounce', points: 0 }],
    });
  });

  it('a delivery of the last 90 days settles the verdict; after an older one DNS is asked', async () => {
    const counted = await verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW - 90 * DAY } });
    expect(counted).toMatchObject({
      confidence: 100,
      score_factors: [
        { factor: 'recorded_delivery', points: 75 },
        { factor: 'delivered_in_90_days', points: 25 },
      ],
    });
    expect(verificationTable(counted)).toMatch(
      new RegExp(
        String.raw`evidence {2}delivered .* 2026-03-03\n {3}\+75 {2}it is on record that mail arrived there` +
          String.raw`\n {3}\+25 {2}and that was in the last 90 days\n`,
      ),
    );
    const old = await verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW - 91 * DAY } });
    expect(old).toMatchObject({
      result: 'unknown',
      confidence: 30,
      cached: false,
      expires_at: null,
      verified_at: new Date(NOW).toISOString(),
    });
    expect(old.checks.map(({ name, result }) => [name, result]).slice(2)).toEqual([
      ['evidence', 'outdated'],
      ['dns', 'failed'],
    ]);
  });

  it('a recorded verdict counts like an unproven acceptance, and not at all in an accept-all domain', async () => {
    const mailbox = { kind: 'verified', atMs: NOW - DAY } as const;
    expect(await verify('jane@acme.example', { mailbox })).toMatchObject({
      result: 'deliverable',
      reason: 'recorded_verdict',
      score_factors: [{ factor: 'recorded_verdict', points: 75 }],
    });
    expect(await verify('jane@acme.example', { mailbox, domain: { acceptsAll: true, emailPattern: null } })).toMatchObject({
      result: 'risky',
      reason: 'accept_all',
      confidence: 50,
    });
    expect(await verify('jane@gmial.com', { mailbox })).toMatchObject({ result: 'risky', reason: 'possible_typo' });
    expect(await verify('x@mailinator.com', { mailbox })).toMatchObject({ result: 'risky', reason: 'disposable' });
  });

  it('an undeliverable verdict counts for 30 days, like a deliverable one', async () => {
    const learnt = NOW - 30 * DAY;
    const counted = await verify('jane@acme.example', { mailbox: { kind: 'found_dead', atMs: learnt } });
    expect(counted).toMatchObject({
      result: 'undeliverable',
      reason: 'recorded_verdict',
      confidence: 0,
      cached: true,
      expires_at: new Date(NOW).toISOString(),
      score_factors: [{ factor: 'recorded_undeliverable', points: 0 }],
    });
    expect(verificationTable(counted)).toMatch(/evidence {2}found dead .* 2026-05-02\n {5}0 {2}it is on record as undeliverable\n/);
    expect(await verify('jane@acme.example', { mailbox: { kind: 'found_dead', atMs: learnt - DAY } })).toMatchObject({
      result: 'unknown',
      cached: false,
    });
  });

  it('takes over from a store that a domain is accept-all, but not that it is not', async () => {
    const mailbox = { kind: 'delivered', atMs: NOW - DAY } as const;
    const found = async (acceptsAll: boolean | null): Promise<unknown> => {
      const { flags, confidence } = await verify('jane@acme.example', { mailbox, domain: { acceptsAll, emailPattern: null } });
      return [flags.accept_all, confidence];
    };
    expect([await found(true), await found(false), await found(null)]).toEqual([
      [true, 75],
      [null, 100],
      [null, 100],
    ]);
  });

  it('ignores evidence that is older than maxAgeS, or of unknown age', async () => {
    const mailbox = { kind: 'delivered', atMs: NOW - 10_000 } as const;
    expect((await verify('jane@acme.example', { mailbox, options: { maxAgeS: 10 } })).result).toBe('deliverable');
    expect((await verify('jane@acme.example', { mailbox, options: { maxAgeS: 9 } })).result).toBe('unknown');
    expect((await verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: null }, options: { maxAgeS: 9 } })).result).toBe(
      'unknown',
    );
  });

  it('reads no evidence in syntax mode, and leaves that check out of the result', async () => {
    const verdict = await verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW }, options: { mode: 'syntax' } });
    expect(verdict).toMatchObject({ result: 'unknown', reason: 'not_checked' });
    expect(verdict.checks.map(({ name }) => name)).toEqual(['syntax', 'lists']);
  });

  it("adds points for an address that fits the domain's pattern", async () => {
    const domain = { acceptsAll: null, emailPattern: '{first}.{last}' };
    expect((await verify('jane.doe@acme.example', { domain })).score_factors).toContainEqual({ factor: 'fits_domain_pattern', points: 10 });
    expect((await verify('jdoe@acme.example', { domain })).confidence).toBe(30);
  });

  it('suggests the address that was probably meant, and reports a domain in ASCII and Unicode', async () => {
    expect((await verify('Jane@Gmial.com')).did_you_mean).toBe('jane@gmail.com');
    expect(await verify('josé@münchen.example')).toMatchObject({
      flags: { smtputf8: true },
      domain: { ascii: 'xn--mnchen-3ya.example', unicode: 'münchen.example' },
    });
  });

  it('gives a verdict for any text, whose points sum to the confidence', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.emailAddress(),
          fc.string().map((text) => `${text}@[${text}]`),
        ),
        async (email) => {
          const { confidence, score_factors: factors, result, verified } = await verify(email);
          expect(factors.reduce((sum, { points }) => sum + points, 0)).toBe(confidence);
          expect(verified).toBe(result === 'deliverable');
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
