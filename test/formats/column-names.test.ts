import { describe, expect, it } from 'vitest';
import { readName, wordsOfName, type NameReading } from '../../src/formats/column-names.ts';
import { KEY_WORDS } from '../../src/formats/column-words.ts';
import { columnsNamed } from '../../src/formats/header-aliases.ts';

/** Names by the key that they mean, as programs and people write them. */
const NAMES: Readonly<Record<NameReading['key'], readonly string[]>> = {
  email: [
    'E-Mail (geschäftlich)',
    'Email:',
    'Lead: Email',
    'Person - Email - Work',
    'E-Mail 1 Adresse',
    'Mail pro',
    'properties.email',
    'EMAIL_ADDRESS__c',
    'E-mail 1 - Value',
    'ContactEmail',
    'primaryEmailAddress',
    'contact_email_c',
    'Work E-mail #1',
    'email2',
    'Firmen-Email',
    'Emailadresse',
    'Kundenmail',
    'Ansprechpartner: E-Mail',
    'Adresse mail',
    'Mél.',
    'Courriel professionnel',
    'Correo electrónico del trabajo',
    'Dirección de e-mail',
    'Indirizzo e-mail',
    'Posta elettronica',
    'Correio eletrônico',
    'E-mailadres (zakelijk)',
    'Adres e-mail',
    'Adres email (służbowy)',
    'E-postadress',
    'Sähköposti',
    'E-posta',
    'Pracovní e-mail',
    'E-mail cím',
    'Электронная почта',
    'Эл. почта',
    'メールアドレス',
    '邮箱地址',
    '이메일 주소',
    'ईमेल',
    'البريد الإلكتروني',
  ],
  domain: [
    'Contact: Website',
    'Organization - Website',
    'Website-URL',
    'www',
    'Strona WWW',
    'Sito web',
    'Página web',
    'Bedrijfswebsite',
    'Site Web (URL)',
    'Domena',
    'Internetseite (URL)',
    'website_url',
    'Domain Name:',
    'Компания сайт',
    'ホームページ',
    '公司网址',
  ],
  linkedin: ['LinkedIn', 'Person LinkedIn Url', 'Profil LinkedIn', 'linkedin_profile_url__c', 'properties.hs_linkedin_url', 'LinkedInUrl'],
  phone: [
    'Tel.',
    'Telefon (mobil)',
    'Mobil-Nr.',
    'Handynummer',
    'GSM',
    'Cell #',
    'Mobile No.',
    'Phone (Work)',
    'Ph.',
    'Work phone 1',
    'Numéro de téléphone portable',
    'N° de téléphone',
    'Nº telefone',
    'Mobiele telefoon',
    'Telefoonnummer',
    'Telefon komórkowy',
    'Teléfono móvil',
    'Telemóvel',
    'Cellulare',
    'Телефон',
    '携帯電話',
    '手机号码',
    '전화번호',
  ],
};

describe('a column name', () => {
  it.each(Object.entries(NAMES).flatMap(([key, names]) => names.map((name) => [name, key] as const)))('%j means %s', (name, key) => {
    expect(readName(name)?.key).toBe(key);
  });

  it.each([
    'Email status',
    'Email Verified',
    'email_opt_out',
    'Email owner',
    'Owner: Email',
    'E-mail 1 - Type',
    'Email sent at',
    'Mailing City',
    'Company LinkedIn',
    'LinkedIn Company Page',
    'LinkedIn followers',
    'Photo URL',
    'Personal Website',
    'Fax',
    'Phone type',
    'Notes',
    'First Name',
    'Company',
    'Postal address',
    'Username',
    '',
    '...',
    '1',
    'x'.repeat(10_000),
  ])('%j means no key', (name) => {
    expect(readName(name)).toBeNull();
  });

  it('means the same in capitals, with underscores, with numbers and behind a prefix', () => {
    for (const [key, names] of Object.entries(NAMES)) {
      for (const name of names) {
        const snake = wordsOfName(name).join('_');
        for (const one of [snake, snake.toUpperCase(), `${snake} 2`, `Contact: ${snake}`, `properties.${snake}`, `${snake}__c`])
          expect([one, readName(one)?.key]).toEqual([one, key]);
      }
    }
  });

  it('has words of one key only', () => {
    const all = Object.values(KEY_WORDS).flatMap((words) => [...new Set(words)]);
    expect(new Set(all).size).toBe(all.length);
  });
});

it('names on the list come first, then names by their words, then private ones', () => {
  const header = ['E-Mail privat', 'Lead: Private E-Mail', 'Kundenmail', 'Other E-Mail', 'Lead: Email', 'Work Email'];
  expect(columnsNamed('email', header).map(({ name }) => name)).toEqual([
    'Lead: Email',
    'Work Email',
    'Kundenmail',
    'Other E-Mail',
    'E-Mail privat',
    'Lead: Private E-Mail',
  ]);
});
