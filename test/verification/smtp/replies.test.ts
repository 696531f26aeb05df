import { describe, expect, it } from 'vitest';
import type { RcptMeaning } from '../../../src/verification/smtp/classify.ts';
import * as fc from '../../support/fast-check.ts';
import {
  COLLECTIONS,
  countReadings,
  deadReplies,
  FAMILIES,
  meaningOf,
  OWN_WORDS,
  repliesOf,
  settledShare,
  SOURCES,
  type RealReply,
} from '../replies.ts';

const ALL: readonly RealReply[] = COLLECTIONS.flatMap((collection) => FAMILIES.flatMap((family) => repliesOf(family, collection)));

describe.each(COLLECTIONS)('the %s replies', (collection) => {
  it('no real reply about an existing mailbox is classified as dead', () => {
    expect(countReadings(repliesOf('living', collection)).calledDead).toEqual([]);
    expect(countReadings(repliesOf('full', collection)).calledDead).toEqual([]);
  });
});

it('at least 85 % of the real replies about dead mailboxes are classified as dead, of the unseen ones at least 80 %', () => {
  expect(settledShare([...deadReplies('seen'), ...deadReplies('unseen')])).toBeGreaterThanOrEqual(0.85);
  expect(settledShare(deadReplies('unseen'))).toBeGreaterThanOrEqual(0.8);
});

it('at least 95 % of the real replies about full mailboxes are classified as full', () => {
  const full = countReadings([...repliesOf('full', 'seen'), ...repliesOf('full', 'unseen')]);
  expect(full.calledFull / full.replies).toBeGreaterThanOrEqual(0.95);
});

it('each of our own wordings is read as it is meant', () => {
  const meant = (meaning: RcptMeaning): string => (['no_mailbox', 'mailbox_disabled'].includes(meaning) ? 'dead' : 'living');
  for (const [meaning, text = ''] of OWN_WORDS) {
    if (meaning === 'full') expect([meaningOf(text), text]).toEqual(['mailbox_full', text]);
    else expect([meant(meaningOf(text)), text]).toEqual([meaning, text]);
  }
});

it('each real reply has a language and a source with the day on which it was read', () => {
  for (const { source, language, text } of ALL) {
    expect([SOURCES.some(([name]) => name === source), /^[a-z]{2}$/.test(language), text]).toEqual([true, true, text]);
  }
  for (const [, day, place] of SOURCES) {
    expect(day).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(place).not.toBe('');
  }
});

/** Servers repeat addresses, and add links, hosts and ids. Their parts are words that would mean something elsewhere. */
const NOISE = [
  '<jane.doe@example.com>',
  '<jane@example.com>:',
  'no.such.user@blocked.example',
  '"jane doe"@example.com',
  '(spam@full.test)',
  'mx1.mail.example.com',
  'queue.blocked.example.net',
  '[192.0.2.7]',
  '[2001:db8::1]',
  'relay=[192.0.2.7]',
  'https://blocked.test/policy?full=mailbox',
  'www.example.com/user-unknown',
  '4F1C2A0B3D',
  'id=4F1C2A',
  '(4Xk2Yp1z3Qw8)',
  'v14si1155795plk.134',
  '1RGDpO-0008Ba-Qe',
  'deadbeefcafe',
];
/** A reply of which nothing is cut. */
const SHORT = ALL.filter(({ text }) => text.length < 400);

it('an address, a host name, a link or a queue id anywhere in a reply never changes its meaning', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SHORT), fc.constantFrom(...NOISE), fc.nat(60), ({ text }, noise, at) => {
      const words = text.slice(4).split(' ');
      words.splice(at % (words.length + 1), 0, noise);
      expect([meaningOf(`${text.slice(0, 4)}${words.join(' ')}`), text]).toEqual([meaningOf(text), text]);
    }),
    { numRuns: 5_000 },
  );
});

it('letter case, spacing and underscores for spaces never change the meaning of a reply', () => {
  const spaces = fc.constantFrom('  ', '\t', '\u00a0', ' \t ');
  fc.assert(
    fc.property(fc.constantFrom(...SHORT), spaces, ({ text }, space) => {
      const words = text.slice(4);
      // An underscore beside a host name or an address is a part of it.
      const joined = /[@.\d]/.test(words) ? words : words.replaceAll(/(?<=\p{L}) (?=\p{L})/gu, '_');
      for (const other of [words.toUpperCase(), words.toLowerCase(), words.replaceAll(' ', space), joined]) {
        expect([meaningOf(`${text.slice(0, 4)}${other}`), other]).toEqual([meaningOf(text), other]);
      }
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  ['User has reached the storage limit', 'mailbox_full'],
  ["User's inbox storage is exhausted", 'mailbox_full'],
  ['mailbox is over its limit', 'mailbox_full'],
  ['Mailbox is frozen, quota reached', 'mailbox_full'],
  ['Das Postfach ist ueberfuellt', 'mailbox_full'],
  ['Casilla llena', 'mailbox_full'],
  ['La boîte est saturée', 'mailbox_full'],
  ['Skrzynka przepełniona', 'mailbox_full'],
  ['Почтовый ящик переполнен', 'mailbox_full'],
  ['收件人邮箱已满', 'mailbox_full'],
  ['too much mail data', 'mailbox_full'],
  ['mail box space not enough', 'mailbox_full'],
  ['over the maximum allowed mailbox size', 'mailbox_full'],
  ["the user's space has used up", 'mailbox_full'],
  ['message is larger than the space available', 'mailbox_full'],
  ['メールボックスの容量が不足しています', 'mailbox_full'],
  ['Recipient rejected - throttled', 'policy_rejected'],
  ['user over limit of received mails', 'policy_rejected'],
  ['No such user - callout failed', 'policy_rejected'],
  ['User unknown. Your IP address is listed', 'policy_rejected'],
  ['troppi destinatari', 'policy_rejected'],
  ['Сообщение отклонено как спам', 'policy_rejected'],
  ['发件人被列入黑名单', 'policy_rejected'],
])('"%s" means %s, also under 5.1.1 and 5.2.1', (words, meaning) => {
  for (const enhanced of ['5.1.1 ', '5.2.1 ', '']) expect(meaningOf(`550 ${enhanced}${words}`)).toBe(meaning);
});
