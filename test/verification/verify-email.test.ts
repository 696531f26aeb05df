import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DomainEvidence, EmailVerification, MailboxEvidence, VerifyOptions } from '../../src/verification/types.ts';
import { verifyEmail } from '../../src/verification/verify-email.ts';

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;

function verify(email: string, known: { mailbox?: MailboxEvidence; domain?: DomainEvidence; options?: Partial<VerifyOptions> } = {}): EmailVerification {
  let ticks = 0;
  return verifyEmail(email, {
    mode: 'full',
    maxAgeS: null,
    evidence: { mailbox: () => known.mailbox ?? null, domain: () => known.domain ?? null },
    nowMs: NOW,
    clock: () => ticks++,
    ...known.options,
  });
}

describe('verifyEmail', () => {
  it.each([
    ['jane@', 'undeliverable', 'invalid_syntax', ['syntax']],
    ['jane@localhost', 'undeliverable', 'invalid_syntax', ['syntax']],
    ['jane@[192.0.2.1]', 'unknown', 'address_literal', ['syntax']],
    ['jane@[IPv6:2001:db8::1]', 'unknown', 'address_literal', ['syntax']],
    ['x@sub.mailinator.com', 'risky', 'disposable', ['syntax', 'lists', 'evidence']],
    ['jane@gmial.com', 'risky', 'possible_typo', ['syntax', 'lists', 'evidence']],
    ['jane@acme.example', 'unknown', 'not_checked', ['syntax', 'lists', 'evidence']],
  ])('%s is %s: %s', (email, result, reason, checks) => {
    const verdict = verify(email);
    expect(verdict).toMatchObject({ email, result, reason, verified: false, mx: null, smtp: null, attempts: 0 });
    expect(verdict.checks.map(({ name }) => name)).toEqual(checks);
    expect(verdict.checks.every(({ ms }) => ms === 1)).toBe(true);
  });

  it('takes a recorded delivery or bounce over what the name looks like', () => {
    const learnt = NOW - 200 * DAY;
    expect(verify('info@gmial.com', { mailbox: { kind: 'delivered', atMs: learnt } })).toMatchObject({ result: 'deliverable', verified: true, verified_at: new Date(learnt).toISOString(), cached: true });
    expect(verify('jane@acme.example', { mailbox: { kind: 'bounced', atMs: learnt } })).toMatchObject({ result: 'undeliverable', reason: 'recorded_bounce', confidence: 0 });
  });

  it('counts a delivery of the last 90 days, and not an older one', () => {
    const domain = { acceptsAll: null, emailPattern: null };
    expect(verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW - 90 * DAY }, domain }).confidence).toBe(100);
    expect(verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW - 91 * DAY }, domain }).confidence).toBe(75);
  });

  it('leaves out evidence that is older than asked for, or of no known age', () => {
    const mailbox = { kind: 'delivered', atMs: NOW - 10_000 } as const;
    expect(verify('jane@acme.example', { mailbox, options: { maxAgeS: 10 } }).result).toBe('deliverable');
    expect(verify('jane@acme.example', { mailbox, options: { maxAgeS: 9 } }).result).toBe('unknown');
    expect(verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: null }, options: { maxAgeS: 9 } }).result).toBe('unknown');
  });

  it('looks at no evidence in syntax mode, and says so', () => {
    const verdict = verify('jane@acme.example', { mailbox: { kind: 'delivered', atMs: NOW }, options: { mode: 'syntax' } });
    expect(verdict.result).toBe('unknown');
    expect(verdict.checks.map(({ name }) => name)).toEqual(['syntax', 'lists']);
  });

  it("adds points for the shape of the domain's addresses", () => {
    const domain = { acceptsAll: null, emailPattern: '{first}.{last}' };
    expect(verify('jane.doe@acme.example', { domain }).score_factors).toContainEqual({ factor: 'fits_domain_pattern', points: 10 });
    expect(verify('jdoe@acme.example', { domain }).confidence).toBe(30);
  });

  it('says what was probably meant, and reports names in both scripts', () => {
    expect(verify('Jane@Gmial.com').did_you_mean).toBe('jane@gmail.com');
    expect(verify('josé@münchen.example')).toMatchObject({ flags: { smtputf8: true }, domain: { ascii: 'xn--mnchen-3ya.example', unicode: 'münchen.example' } });
  });

  it('has an answer for anything, and its points sum to the confidence', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.emailAddress(), fc.string().map((text) => `${text}@[${text}]`)), (email) => {
        const { confidence, score_factors: factors, result, verified } = verify(email);
        expect(factors.reduce((sum, { points }) => sum + points, 0)).toBe(confidence);
        expect(verified).toBe(result === 'deliverable');
      }),
      { numRuns: 1_000 },
    );
  });
});
