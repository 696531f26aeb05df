import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { classifyRcpt, refusalForm, type RcptMeaning } from '../../../src/verification/smtp/classify.ts';
import { ReplyReader } from '../../../src/verification/smtp/reply.ts';

function meaning(text: string): RcptMeaning {
  const [reply] = new ReplyReader().push(Buffer.from(`${text}\r\n`));
  if (reply === undefined) throw new Error(`no reply: ${text}`);
  return classifyRcpt(reply);
}

/** Replies of real servers, from their manuals and logs. */
const CASES: Readonly<Record<RcptMeaning, readonly string[]>> = {
  accepted: ['250 2.1.5 Ok', '250 Accepted', '251 User not local; will forward'],
  cannot_verify: ['252 2.0.0 Cannot VRFY user', '252 send some mail, will try my best'],
  no_mailbox: [
    '550 5.1.1 <jane@acme.test>: Recipient address rejected: User unknown in virtual mailbox table',
    '550 5.1.1 The email account that you tried to reach does not exist.',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    '550 5.1.6 Mailbox has moved',
    '550 No such user here',
    '550 no such recipient',
    '550 Unknown user',
    '550 unknown local user',
    '550 Invalid recipient',
    '553 sorry, no mailbox here by that name',
    '551 user does not exist',
    "550 This user doesn't have a mailbox here, so the user is unknown",
    '550 Unrouteable address',
    '550 Benutzer unbekannt',
    '550 Requested action not taken: user not found',
    '550 5.0.0 user unknown',
    '550 5.1.0 Address unknown',
    '550 #5.1.1 rejected',
    '550 5.1.1 user at 15.7.2.9 unknown',
  ],
  mailbox_disabled: ['550 5.2.1 The email account is disabled', '554 5.2.1 mailbox disabled', '550 account has been suspended'],
  mailbox_full: [
    '552 5.2.2 over quota',
    '452 4.2.2 mailbox full',
    '552 exceeded storage allocation',
    '450 4.2.2 over quota',
    '550 5.2.2 full',
    '550 mailbox is full',
    '552 5.2.2 too many messages',
    '552 too many messages in mailbox',
    '552 Mailbox full, please try again later',
  ],
  policy_rejected: [
    '550 5.7.1 Relaying denied',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using a list',
    '550 5.7.26 unauthenticated sender',
    '550 #5.7.1 unknown user',
    '550 (5.7.1) user unknown',
    '550  5.7.1 user unknown',
    '553 sorry, no mailbox here by that name. (#5.7.17)',
    '550-5.1.1 user unknown\r\n550 5.7.1 blocked',
    '550 Connection from unknown address',
    '550 Reverse lookup for your address not found',
    '550 Recipient temporarily unavailable; user unknown, try later',
    '550 Host name is invalid; address not found',
    '550 greylisted; account inactive for 5 minutes',
    '550 relay not permitted',
    '550 Relaying denied, unknown user',
    '553 sorry, your IP is on a blocklist',
    '550 rejected because of its bad reputation',
    '554 Access denied',
    '550 SPF check failed',
    '550 sender verify failed: user unknown',
    '550 Invalid MAIL FROM address',
    '550 5.1.0 Invalid MAIL FROM address',
    '553 Invalid from address',
    '553 invalid address in From: field',
    '553 bad return address',
    '550 Return-Path address is not valid',
    '550 Null return address is not valid for this recipient',
    '550 Invalid reverse-path address',
    '550 envelope address not valid',
    '550 Originator address unknown',
    '550 Invalid bounce address',
    '550 Invalid IP address',
    '550 Unknown client IP address',
    '550 Unknown client name',
    '550 invalid remote address',
    '550 IP address not listed in our allow list',
    '550 unknown connecting address',
    '550 no rDNS, name not found',
    '550 Bad domain name',
    '550 domain name does not exist',
    '550 Invalid user name or password',
    '550 Invalid login name',
    '550 Your account has been suspended',
    '550 Your email address is not known here',
    '552 spam message rejected',
    '552 5.2.0 blocked by policy',
  ],
  try_later: [
    '450 4.2.0 Greylisted',
    '451 4.7.1 try again later',
    '421 4.7.0 too many',
    '450 user unknown',
    '450 5.1.1 user unknown',
    '550 4.1.1 user unknown',
    '452 4.5.3 too many recipients',
    '452 Too many recipients',
    '552 Too many recipients',
    '552 5.5.3 Too many recipients',
    '550 5.5.3 Too many recipients',
    '552 too many recipients for this session, policy',
    '452 insufficient system storage',
    '450 4.1.1 unverified address',
  ],
  rejected: [
    '220 hello',
    '221 2.0.0 closing',
    '550 no',
    '550 5.4.1 no route',
    '550 mailbox unavailable',
    '550 5.1.3 bad syntax',
    '354 go ahead',
    '550 5.3.4 too big',
    '550 2.1.5 fine',
  ],
};

/** How large providers and common servers report an unknown mailbox without a specific enhanced code. Some repeat the address. */
const NOBODY: readonly string[] = [
  '550 Requested action not taken: invalid mailbox. Local mailbox jane@provider.test is unavailable: user not found',
  '550 Mailbox not found. https://help.provider.test/codes/20022',
  '550 The recipient may contain a non-existent account, please check the recipient address.',
  '550 User not found: jane@provider.test',
  '550 Invalid Recipient - https://community.gateway.test/docs/1369#550 [kq3]',
  '550 Invalid recipient <jane@provider.test> (#5.1.1)',
  '550 No such user - gateway',
  '550 jane@provider.test... No such user',
  '550 jane@provider.test, Recipient unknown',
  '550 No Such User Here"',
  '550 RCPT TO:<jane@provider.test> User unknown',
  '550 <client@remote.test>: User unknown',
  '550 <your.account@mail-from.test> user not found',
  '550 5.1.0 <jane@provider.test>... User unknown',
  '550 5.0.0 User Unknown - Please check the spelling of the name',
  '551 Not our customer',
  '553 5.3.0 <jane@provider.test>... User unknown, not local address',
  '553 sorry, this recipient is not in my validrcptto list; no such user',
  '550 <jane@provider.test>: Recipient address rejected: User unknown in relay recipient table',
  '550 <jane@provider.test>: Recipient address rejected: User unknown in local recipient table',
  '550 Mailbox does not exist, please check your address book',
  '550 remote server said: user unknown',
];

describe('classifyRcpt', () => {
  it.each(NOBODY)('no_mailbox: %s', (text) => {
    expect(meaning(text)).toBe('no_mailbox');
  });

  it.each(Object.entries(CASES).flatMap(([expected, texts]) => texts.map((text) => [text, expected] as const)))(
    '%s: %s',
    (text, expected) => {
      expect(meaning(text)).toBe(expected);
    },
  );

  const words = fc
    .array(
      fc.constantFrom(
        'user',
        'unknown',
        'mailbox',
        'not',
        'found',
        'no',
        'such',
        'recipient',
        'invalid',
        'blocked',
        'full',
        'disabled',
        'does',
        'exist',
        'address',
      ),
      { maxLength: 8 },
    )
    .map((list) => list.join(' '));

  it('no words make a mailbox dead under a code below 500 or under 5.7.x', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 499 }),
        fc.constantFrom('', '5.1.1 ', '4.1.1 ', '5.2.1 ', '5.7.1 '),
        words,
        (code, enhanced, text) => {
          expect(['no_mailbox', 'mailbox_disabled']).not.toContain(meaning(`${code} ${enhanced}${text}`));
        },
      ),
    );
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 599 }), fc.integer({ min: 0, max: 99 }), words, (code, detail, text) => {
        expect(meaning(`${code} 5.7.${detail} ${text}`)).toBe('policy_rejected');
      }),
    );
  });

  it('words about policy, rate, sender checks or a full mailbox outrank 5.1.1 and 5.2.1', () => {
    const living = fc.constantFrom(
      'The user you are trying to contact is receiving mail at a rate that prevents additional messages',
      '<a@b.test> - 203.0.113.22 has sent to too many recipients this hour',
      'Mailbox unavailable. Your IP address 203.0.113.22 is blacklisted using SPAMHAUS-XBL',
      'Sender verify failed',
    );
    fc.assert(
      fc.property(living, fc.constantFrom('5.1.1', '5.2.1', '5.1.6'), fc.constantFrom(550, 551, 553, 554), (text, enhanced, code) => {
        expect(meaning(`${code} ${enhanced} ${text}`)).toBe('policy_rejected');
      }),
    );
    expect(meaning('552 5.1.1 Boite du destinataire pleine')).toBe('mailbox_full');
    expect(meaning('550 5.1.1 user over quota')).toBe('mailbox_full');
  });

  it('only 5.7.x outranks 5.1.10, and other enhanced codes outrank the words', () => {
    fc.assert(
      fc.property(words, (text) => {
        expect(meaning(`550 5.1.10 ${text} blocked address lookup`)).toBe('no_mailbox');
        expect(meaning(`550 5.4.7 ${text} user unknown`)).toBe('rejected');
      }),
    );
  });

  it('words in addresses and links are ignored', () => {
    expect(meaning('550 5.1.1 <spam.blocked@over-quota.test> unknown, see https://blocked.test/policy?full=mailbox')).toBe('no_mailbox');
    expect(meaning('550 <unknown.user@blocked.test> www.test/no-such-user')).toBe('rejected');
  });

  it('words that almost match a rule cost no backtracking', () => {
    for (const text of ['user '.repeat(100), 'user not '.repeat(60), 'unknown bad '.repeat(40), `does not have a ${'x '.repeat(200)}`]) {
      for (let n = 0; n < 1_000; n++) meaning(`550 ${text}`);
    }
    expect(meaning(`550 ${'user '.repeat(90)}`)).toBe('rejected');
  });
});

describe('refusalForm', () => {
  const form = (text: string, recipient: string): string => {
    const [reply] = new ReplyReader().push(Buffer.from(`${text}\r\n`));
    if (reply === undefined) throw new Error(`no reply: ${text}`);
    return refusalForm(reply, recipient);
  };

  it('two recipients that one server refuses for the same reason get the same form', () => {
    expect(
      form(
        '550 5.4.1 Recipient address rejected: Access denied. [XY2NAM02FT061.eop-nam02.outlook.com 2026-11-01T10:00:00Z 08DE]',
        'jane@a.test',
      ),
    ).toBe(
      form(
        '550 5.4.1 Recipient address rejected: Access denied. [AB1EUR05FT013.eop-eur05.outlook.com 2026-11-01T10:00:02Z 17AF]',
        'qkdjw.abc@a.test',
      ),
    );
    expect(form('550 Requested action not taken: jane unavailable', 'jane@a.test')).toBe(
      form('550 Requested action not taken: joe unavailable', 'joe@a.test'),
    );
  });

  it('refusals with different codes or words get different forms', () => {
    const one = form('550 5.4.1 Access denied', 'jane@a.test');
    expect(form('550 5.5.0 Access denied', 'jane@a.test')).not.toBe(one);
    expect(form('554 5.4.1 Access denied', 'jane@a.test')).not.toBe(one);
    expect(form('550 5.4.1 Mailbox unavailable', 'jane@a.test')).not.toBe(one);
  });
});
