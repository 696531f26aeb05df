import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { normaliseEmail } from '../../src/verification/address.ts';
import { addressIn, domainIn, isBlank, visibleText } from '../../src/verification/clean-keys.ts';
import { profileKey } from '../../src/verification/profile-url.ts';
import { SEED } from '../support/seed.ts';

describe('addressIn', () => {
  it.each([
    'mailto:jo@acme.example',
    'MAILTO: jo@acme.example',
    'mailto:jo@acme.example?subject=Hi%20there',
    'mailto:jo%40acme.example',
    '<mailto:jo@acme.example>',
    'SMTP:jo@acme.example',
    'Email: jo@acme.example',
    'e-mail:jo@acme.example',
    'Jo <jo@acme.example>',
    '"Jo" <jo@acme.example>',
    '"Smith, Jo" <Jo@ACME.example>',
    '<jo@acme.example>',
    'Jo<jo@acme.example>;',
    'Jo < jo@acme.example >',
    "'Jo' <jo@acme.example>",
    'jo@acme.example;',
    'jo@acme.example,',
    'jo@acme.example.,',
    '(jo@acme.example)',
    '[jo@acme.example]',
    '"jo@acme.example"',
    "'jo@acme.example'",
    '“jo@acme.example”',
    '«jo@acme.example»',
    'jo@acme.example (Jo)',
    '(Jo) jo@acme.example',
    'jo @acme.example',
    'jo@ acme.example',
    'jo @ acme.example',
    'jo\uff20acme.example',
    '\uff4a\uff4f\uff20\uff41\uff43\uff4d\uff45\uff0e\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45',
    '\uff4ao@acme.example',
    'jo\ufe6bacme\u3002example',
    'j\u200bo@acme.example',
    '\ufeffjo@acme.example\u200b',
    'jo\u00ad@acme.example',
    'jo@ac\u00adme.example',
    '\u202ajo@acme.example\u202c',
    'jo\u2060@acme.example',
    'jo\u00a0@acme.example',
    'jo\u200e@acme.example',
    'jo@acme.example\u00a0',
    '\u00a0jo@acme.example',
    '\u3000jo@acme.example',
    'jo@acme.example.',
    ' Jo@acme.example. ',
    'jo@acme.example.\u00a0',
    'jo@acme.example, ann@acme.example',
    'jo@acme.example;ann@acme.example',
    'jo@acme.example ann@acme.example',
    'jo@acme.example / ann@acme.example',
    'jo@acme.example\nann@acme.example',
    'Jo <jo@acme.example>, Ann <ann@acme.example>',
    'jo@@x, jo@acme.example',
  ])('%j is cleaned to jo@acme.example', (text) => {
    expect(addressIn(text)).toMatchObject({ key: 'jo@acme.example', cleaned: true });
  });

  it.each([
    ['jo@acme.example', 'jo@acme.example'],
    [' Jo@ACME.example ', 'jo@acme.example'],
    ['\tjo@acme.example\r\n', 'jo@acme.example'],
    ['jo@b\u00fccher.example', 'jo@xn--bcher-kva.example'],
    ['j\u00f6@acme.example', 'j\u00f6@acme.example'],
    ['"a,b"@acme.example', '"a,b"@acme.example'],
    ["o'hara@acme.example", "o'hara@acme.example"],
    ['\u0646\u0627\u0645\u0647\u200c\u0627@acme.example', '\u0646\u0627\u0645\u0647\u200c\u0627@acme.example'],
  ])('%j is valid as it stands and is not reported as cleaned', (text, key) => {
    expect(addressIn(text)).toMatchObject({ key, cleaned: false });
  });

  it.each([
    'john smith@acme.example',
    'smith, john@acme.example',
    'jo@acme,example',
    'jo@@acme.example',
    'jo at acme.example',
    'Jo jo@acme.example',
    'n/a',
    '-',
    '',
    '\u200b',
    'mailto:',
    '<>',
    'Jo <n/a>',
    '@',
    'jo@',
    `<${'a@'.repeat(600)}`,
  ])('%j is ambiguous or not an address, and gives null', (text) => {
    expect(addressIn(text)).toBeNull();
  });

  it(`finds every valid address, and cleaning its key again changes nothing (SEED=${SEED})`, () => {
    const sign = fc.constantFrom(
      'a',
      'j',
      'o',
      '.',
      '@',
      '<',
      '>',
      '(',
      ')',
      ',',
      ';',
      ' ',
      '"',
      "'",
      '\\',
      ':',
      '\uff20',
      '\u200b',
      '\u00a0',
      '\u200c',
      '\u3002',
      '\uff0e',
      'acme.example',
      'jo@acme.example',
      'mailto:',
      '\u0646',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.emailAddress(),
          fc.array(sign, { maxLength: 20 }).map((signs) => signs.join('')),
          fc.string({ unit: 'binary', maxLength: 30 }),
        ),
        (text) => {
          const found = addressIn(text);
          if (normaliseEmail(text) !== null) expect(found).not.toBeNull();
          if (found === null) return;
          expect(addressIn(found.key)).toMatchObject({ key: found.key, cleaned: false });
          expect(visibleText(found.key)).toContain('@');
        },
      ),
      { seed: SEED, numRuns: 3_000 },
    );
  });
});

describe('domainIn', () => {
  it.each([
    'HTTPS://www.Acme.example/',
    'acme.example.',
    'https//acme.example',
    'https:/acme.example/about',
    'http:acme.example',
    'http;//acme.example',
    'https://http://acme.example',
    '<https://acme.example>',
    '"acme.example"',
    'acme.example;',
    'acme.example,',
    '(acme.example)',
    'acme\u3002example',
    '\uff41\uff43\uff4d\uff45\uff0e\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45',
    'https\uff1a\uff0f\uff0facme.example\uff0fabout',
    '\u200bacme.example\u00a0',
    'acme.ex\u00adample',
    'acme.example (Acme)',
    'acme.example, acme.test',
    'acme.example; www.acme.test',
    ' acme.example ',
  ])('%j gives acme.example', (text) => {
    expect(domainIn(text)).toBe('acme.example');
  });

  it.each(['n/a', 'Acme Inc', 'localhost', 'jo@acme.example', '10.0.0.1', '', 'https://', 'jo@acme.example, acme.example'])(
    '%j gives null',
    (text) => {
      expect(domainIn(text)).toBeNull();
    },
  );
});

describe('profileKey', () => {
  it.each([
    'https://www.linkedin.com/in/ada',
    'http://linkedin.com/in/ada/',
    'linkedin.com/in/Ada',
    'https://uk.linkedin.com/in/ada',
    'https://m.linkedin.com/in/ada',
    'https://mobile.linkedin.com/in/ada',
    'www.de.linkedin.com/in/ada',
    'https://www.linkedin.com:443/in/ada',
    'https://www.linkedin.com./in/ada',
    'https//www.linkedin.com/in/ada',
    'https:/www.linkedin.com/in/ada',
    '<https://www.linkedin.com/in/ada>',
    '"https://www.linkedin.com/in/ada";',
    'https://www.linkedin.com/in/ada\u200b',
    '\uff4cinkedin.com\uff0fin\uff0fada',
    'www.linkedin.com//in//ada//',
    'https://www.linkedin.com/in/ada/en-us',
    'https://www.linkedin.com/in/ada/details/experience/',
    'https://www.linkedin.com/in/ada?utm_source=x#top',
    'LinkedIn.com/in/ada (Ada)',
  ])('%j gives linkedin.com/in/ada', (url) => {
    expect(profileKey(url)).toBe('linkedin.com/in/ada');
  });

  it.each([
    'https://acme.example/in/ada',
    'https://linkedin.com.acme.example/in/ada',
    'https://linkedin.com@acme.example/in/ada',
    'https://notlinkedin.com/in/ada',
    'https://acme.example/linkedin.com/in/ada',
    'https://lnkd.in/ada',
    'https://www.xing.com/profile/ada',
    'https://business.linkedin.com/in/ada',
    'https://www.linkedin.com/sales/lead/ACwAAA,NAME',
    'https://www.linkedin.com/profile/view?id=7',
    'https://www.linkedin.com/company/acme',
    'linkedin.com',
    'linkedin.com/',
    'linkedin.com/in',
    'linkedin.com/in//',
    'ada',
    'n/a',
    '',
  ])('%j is not the address of a profile', (url) => {
    expect(profileKey(url)).toBeNull();
  });

  it('accepts the older /pub/ form with its numbers, and the host of the sample set', () => {
    expect(profileKey('https://www.linkedin.com/pub/ada-l/1/22/333')).toBe('linkedin.com/pub/ada-l/1/22/333');
    expect(profileKey('https://profiles.example/in/Ada')).toBe('profiles.example/in/ada');
  });
});

describe('isBlank', () => {
  it.each(['', ' ', '\u200b', '\ufeff \u00ad', '\u00a0\t'])('%j is blank', (text) => expect(isBlank(text)).toBe(true));
  it.each(['-', 'n/a', '\u200ba'])('%j is not blank', (text) => expect(isBlank(text)).toBe(false));
});

it.each([
  ['Jane.Doe@Acme.Example', 'Jane.Doe@acme.example'],
  ['Jo <Jane.Doe@Acme.Example>', 'Jane.Doe@acme.example'],
  ['mailto:Jane.Doe@acme.example?subject=Hi', 'Jane.Doe@acme.example'],
  ['ＪO＠acme.example', 'JO@acme.example'],
])('%j keeps the case of the local part for its mail host', (text, spelled) => {
  expect(addressIn(text)).toMatchObject({ key: spelled.toLowerCase(), spelled });
});

describe('a text as a spreadsheet writes it', () => {
  it.each([
    ['="Ada@works.example"', 'ada@works.example'],
    ['=T("ada@works.example")', 'ada@works.example'],
    ['=HYPERLINK("mailto:ada@works.example","Ada")', 'ada@works.example'],
    ['=HYPERLINK("mailto:ada@works.example";"Ada")', 'ada@works.example'],
    ['\'="ada@works.example"', 'ada@works.example'],
  ])('an address is read from %s', (text, key) => {
    expect(addressIn(text)).toMatchObject({ key, cleaned: true });
  });

  it('a domain is read from a formula, and an empty formula is blank', () => {
    expect(domainIn('="www.acme.example"')).toBe('acme.example');
    expect(domainIn('=HYPERLINK("https://acme.example/about")')).toBe('acme.example');
    expect(isBlank('=""')).toBe(true);
    expect(isBlank('=')).toBe(false);
  });
});
