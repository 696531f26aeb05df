import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as fc from '../../support/fast-check.ts';
import { FAMILIES } from '../../../src/verification/smtp/families.ts';
import { POLICY_VOCABULARY } from '../../../src/verification/smtp/policy-vocabulary.ts';
import { VOCABULARY } from '../../../src/verification/smtp/vocabulary.ts';
import { rowsOf, subjectOf } from '../../../src/verification/smtp/wordings.ts';
import { meaningOf, meaningOfBytes } from '../replies.ts';

const SMTP = new URL('../../../src/verification/smtp/', import.meta.url);
const README = readFileSync(new URL('../../../fixtures/replies/README.md', import.meta.url), 'utf8');

describe('the tables of the classifier', () => {
  const words = [...rowsOf(VOCABULARY), ...rowsOf(POLICY_VOCABULARY)];
  const families = rowsOf(FAMILIES);

  it.each(families.map((row) => [row[2], row[0]]))('"%s" is read as %s', (wording = '', meaning) => {
    expect(subjectOf(wording)).toBe(meaning);
  });

  it('each line has four cells, and its source is explained', () => {
    for (const row of [...words, ...families]) expect([row, row.length]).toEqual([row, 4]);
    const sources = new Set([...words, ...families].flatMap((row) => (row[3] ?? '').split(', ')));
    for (const source of sources) expect([source, README.includes(`\`${source}\``)]).toEqual([source, true]);
  });

  it('no word stands for two concepts', () => {
    const entries = words.flatMap(([concept, , cell = '']) => cell.split(', ').map((word) => [word, concept] as const));
    expect(entries.length - new Map(entries).size).toBe(0);
  });

  it('families name only concepts that have words', () => {
    const known = new Set(['place', ...words.flatMap(([concepts = '']) => [concepts, ...concepts.split(' ')])]);
    const signs = new Set(['only', '^', '$', '.', '..', '...']);
    for (const [, pattern = ''] of families) {
      const names = pattern.replaceAll('no longer', 'gone').replaceAll('your mail', 'gone').split(/[ /]/);
      for (const name of names) expect([pattern, name, signs.has(name) || known.has(name.replace('!', ''))]).toEqual([pattern, name, true]);
    }
  });

  it('no regular expression is longer than 120 characters', () => {
    const code = ['classify.ts', 'reply.ts', 'reply-text.ts', 'reply-words.ts', 'wordings.ts'];
    expect(readdirSync(SMTP)).toEqual(expect.arrayContaining(code));
    for (const file of code) {
      const literals = readFileSync(new URL(file, SMTP), 'utf8').match(/(?<=[=(] ?)\/(?![*/ ]).+?[^\\]\/[gimsuvy]*(?=[;,).])/g) ?? [];
      for (const literal of literals) expect(literal.length, literal).toBeLessThanOrEqual(120);
    }
    for (const [, pattern = ''] of families) expect(pattern.length).toBeLessThanOrEqual(120);
  });
});

const RECIPIENTS = ['user', 'mailbox', 'recipient', 'account', 'email address', 'alias', 'addressee', 'local part', 'e-mail account'];
const SENDERS = ['sender', 'client', 'sending IP', 'host name', 'relay', 'your domain', 'envelope sender', 'return path', 'connection'];
const MISSING = [
  'unknown',
  'does not exist',
  'not found',
  'is not known',
  'is invalid',
  "doesn't exist",
  'could not be found',
  'not recognised',
];
const CODES = ['550', '551', '553', '554', '500', '501', '504', '550 5.0.0', '550 5.1.0', '554 5.5.0', '511', '521'];

it('a recipient that is missing is dead, under every code about an address', () => {
  const adjectives = ['unknown', 'invalid', 'no such', 'illegal', 'non-existent'];
  for (const recipient of RECIPIENTS)
    for (const words of [...MISSING.map((state) => `${recipient} ${state}`), ...adjectives.map((word) => `${word} ${recipient}`)])
      for (const code of CODES) expect([meaningOf(`${code} ${words}`), words]).toEqual(['no_mailbox', words]);
});

it('a sender, a client or a machine that is missing is no dead mailbox, whatever the reply says of a recipient', () => {
  const recipients = fc.constantFrom(...RECIPIENTS);
  fc.assert(
    fc.property(
      fc.constantFrom(...SENDERS),
      fc.constantFrom(...MISSING),
      recipients,
      fc.constantFrom(...MISSING),
      fc.constantFrom(...CODES),
      (...draw) => {
        const [sender, state, recipient, missing, code] = draw;
        const wordings = [`${sender} ${state}`, `${recipient} of the ${sender} ${state}`, `${sender} ${state}: ${recipient} ${missing}`];
        for (const words of [...wordings, `${recipient} ${missing} (${sender} ${state})`])
          expect([['no_mailbox', 'mailbox_disabled'].includes(meaningOf(`${code} ${words}`)), words]).toEqual([false, words]);
      },
    ),
    { numRuns: 2_000 },
  );
});

it.each([
  '553 5.3.0 <jane@example.com>... Addressee unknown, relay=[192.0.2.7]',
  '550 User unknown; client 192.0.2.7',
  '550 User jane (jane@example.com) not listed in Domino Directory',
  '550 <jane@example.com> is not a valid RFC-5321 address',
  '550 Recipient Verification Failed - User Not Found',
  '550 not known at this site',
  '550 not a user of this server',
  '550 not a recognised e-mail account',
  '550 The recipient name is not recognized',
  '550 unknown local-part "jane" in domain "example.com"',
  '550 The email account that you tried to reach does no exists.',
  '554 delivery error: dd jane@example.com is no longer valid.',
  '550 NO_SUCH_USER',
  '500 User_unknown',
  '504 no such user',
])('the clause that says who is meant decides: %s', (text) => {
  expect(meaningOf(text)).toBe('no_mailbox');
});

it.each(['550 mailbox has been blocked due to inactivity', '550 The mailbox is inactive', '550 inactivated user', '550 user not active'])(
  'an inactive mailbox is disabled: %s',
  (text) => {
    expect(meaningOf(text)).toBe('mailbox_disabled');
  },
);

it.each(['Mailbox not available', 'mailbox unavailable', 'Konto niedostępne', 'Requested action not taken: mailbox unavailable'])(
  '5.2.1 with no more than "%s" settles nothing',
  (words) => {
    expect(meaningOf(`550 5.2.1 ${words}`)).toBe('rejected');
    expect(meaningOf(`550 5.1.1 ${words}`)).toBe('no_mailbox');
  },
);

/** The letters of a text in an encoding that has one byte for each of them. */
function inBytes(text: string, encoding: string): Buffer {
  const letters = new TextDecoder(encoding).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  return Buffer.from(Array.from(text, (letter) => letters.indexOf(letter)));
}

it.each([
  ['Пользователь не найден', 'no_mailbox', ['koi8-r', 'windows-1251', 'ibm866', 'iso-8859-5']],
  ['Такого ящика не существует', 'no_mailbox', ['koi8-r', 'windows-1251', 'ibm866', 'iso-8859-5']],
  ['Ящик заблокирован', 'mailbox_disabled', ['koi8-r', 'windows-1251']],
  ['Почтовый ящик переполнен', 'mailbox_full', ['koi8-r', 'windows-1251']],
  ['Отправитель не найден', 'policy_rejected', ['koi8-r', 'windows-1251']],
  ['Користувача не знайдено', 'no_mailbox', ['koi8-u', 'windows-1251']],
  ['Usuário não encontrado', 'no_mailbox', ['windows-1252']],
  ['Empfänger ungültig', 'no_mailbox', ['windows-1252']],
  ['Boîte désactivée', 'mailbox_disabled', ['windows-1252']],
  ['Użytkownik nie istnieje', 'no_mailbox', ['iso-8859-2', 'windows-1250']],
  ['Skrzynka przepełniona', 'mailbox_full', ['iso-8859-2', 'windows-1250']],
  ['Uživatel neexistuje', 'no_mailbox', ['iso-8859-2', 'windows-1250']],
  ['Kullanıcı bulunamadı', 'no_mailbox', ['windows-1254']],
])('"%s" is read in the usual encodings of its language', (words, meaning, encodings) => {
  expect(meaningOf(`550 ${words}`)).toBe(meaning);
  for (const encoding of encodings) expect([encoding, meaningOfBytes(inBytes(`550 ${words}`, encoding))]).toEqual([encoding, meaning]);
});

/** Encodings of several bytes for a letter; the bytes in base64. */
it.each([
  ['用户不存在', 'gb18030', 'NTUwINPDu6eyu7Tm1No=', 'no_mailbox'],
  ['收件人邮箱已满', 'gb18030', 'NTUwIMrVvP7Iy9PKz+TS0cL6', 'mailbox_full'],
  ['发件人不存在', 'gb18030', 'NTUwILeivP7Iy7K7tObU2g==', 'policy_rejected'],
  ['使用者不存在', 'big5', 'NTUwIKjPpc6qzKSjpnOmYg==', 'no_mailbox'],
  ['信箱已滿', 'big5', 'NTUwIKtIvWOkd7qh', 'mailbox_full'],
  ['該当するユーザーは存在しません', 'shift_jis', 'NTUwIIpZk5aCt4Lpg4aBW4NVgVuCzZG2jd2CtYLcgrmC8Q==', 'no_mailbox'],
  ['該当するユーザーは存在しません', 'euc-jp', 'NTUwILO6xfakuaTrpeahvKW2obykz8K4ut+kt6TepLuk8w==', 'no_mailbox'],
  ['該当するユーザーは存在しません', 'iso-2022-jp', 'NTUwIBskQjM6RXYkOSRrJWYhPCU2ITwkT0I4Ol8kNyReJDskcxsoQg==', 'no_mailbox'],
  ['宛先不明です', 'shift_jis', 'NTUwIIi2kOaVc5a+gsWCtw==', 'no_mailbox'],
  ['宛先不明です', 'iso-2022-jp', 'NTUwIBskQjA4QGhJVExAJEckORsoQg==', 'no_mailbox'],
  ['존재하지 않는 사용자입니다', 'euc-kr', 'NTUwIMG4wOfHz8H2IL7KtMIgu+e/68DawNS0z7TZ', 'no_mailbox'],
  ['휴면 계정입니다', 'euc-kr', 'NTUwIMjeuOkgsOjBpMDUtM+02Q==', 'mailbox_disabled'],
])('"%s" is read in %s', (words, _encoding, base64, meaning) => {
  expect([meaningOf(`550 ${words}`), meaningOfBytes(Buffer.from(base64, 'base64'))]).toEqual([meaning, meaning]);
});
