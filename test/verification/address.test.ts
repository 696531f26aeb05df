import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { normaliseEmail } from '../../src/verification/address.ts';
import { normaliseDomain } from '../../src/verification/domain.ts';
import { profileKey } from '../../src/verification/profile-url.ts';

describe('normaliseEmail', () => {
  it.each([
    [' Jane@Acme.Example ', 'jane@acme.example'],
    ['jane@acme.example.', 'jane@acme.example'],
    ['jane+tag@acme.example', 'jane+tag@acme.example'],
    ['"john doe"@acme.example', '"john doe"@acme.example'],
    ['"a@b"@acme.example', '"a@b"@acme.example'],
    ['josé@MÜNCHEN.example', 'josé@xn--mnchen-3ya.example'],
    ['jose\u0301@acme.example', 'jos\u00e9@acme.example'],
    ['太郎@例え.example', '太郎@xn--r8jz45g.example'],
    [`${'a'.repeat(64)}@acme.example`, `${'a'.repeat(64)}@acme.example`],
  ])('normalises %j to %j', (given, expected) => {
    expect(normaliseEmail(given)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    'n/a',
    'jane',
    'jane@',
    '@acme.example',
    'jane@localhost',
    'jane@acme..example',
    'jane@-acme.example',
    'jane@acme-.example',
    'a b@acme.example',
    '.jane@acme.example',
    'jane.@acme.example',
    'ja..ne@acme.example',
    'jane@192.0.2.1',
    'jane@[192.0.2.1]',
    'jane@0x7f.0x1',
    'jane@acme.1',
    'a@b@acme.example',
    '"jane@acme.example',
    '""@acme.example',
    '"a"b"@acme.example',
    '"a\\"@acme.example',
    'ja\u200bne@acme.example',
    'jane@ac%6de.example',
    'jane@acme.example/x',
    'jane@日本/x.example',
    'jane,bob@acme.example',
    'jane@acme,example',
    'jane@ac_me.example',
    `${'a'.repeat(65)}@acme.example`,
    `${'é'.repeat(33)}@acme.example`,
    `a@${'b'.repeat(64)}.example`,
    `a@${'b.'.repeat(126)}example`,
    `${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(3)}examples`,
  ])('returns null for %j', (given) => {
    expect(normaliseEmail(given)).toBeNull();
  });

  it('leaves a normalised address unchanged', () => {
    const some = fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.emailAddress(),
      fc.tuple(fc.string({ unit: 'grapheme' }), fc.domain()).map((parts) => parts.join('@')),
    );
    fc.assert(
      fc.property(some, (text) => {
        const once = normaliseEmail(text);
        if (once !== null) expect(normaliseEmail(once)).toBe(once);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts every address of the form first.last@host in any case and with spaces around it', () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
    fc.assert(
      fc.property(word, word, word, fc.constantFrom('', ' ', '\t', '\u00a0'), (first, last, host, space) => {
        const address = `${first}.${last}@${host}.example`;
        expect(normaliseEmail(`${space}${address.toUpperCase()}${space}`)).toBe(address);
      }),
    );
  });
});

describe('normaliseDomain', () => {
  it.each([
    ['https://www.Acme.example/path?x#y', 'acme.example'],
    ['acme.example:8080', 'acme.example'],
    ['http://user:secret@acme.example', 'acme.example'],
    ['//acme.example/x', 'acme.example'],
    ['http:\\\\acme.example', 'acme.example'],
    ['WWW.ACME.EXAMPLE.', 'acme.example'],
    ['www.example', 'www.example'],
    ['shop.acme.example', 'shop.acme.example'],
    ['http://bücher.example/', 'xn--bcher-kva.example'],
    ['日本。example', 'xn--wgv71a.example'],
  ])('normalises %j to %j', (given, expected) => {
    expect(normaliseDomain(given)).toBe(expected);
  });

  it.each([
    '',
    'localhost',
    '192.0.2.1',
    '１９２.0.2.1',
    'http://[::1]/',
    'jane@acme.example',
    'a.example, b.example',
    'n/a',
    'coming soon',
    'http://',
    'a_b.example',
    'x'.repeat(5_000),
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(124)}example`,
  ])('returns null for %j', (given) => {
    expect(normaliseDomain(given)).toBeNull();
  });

  it('leaves a normalised domain unchanged', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.domain(),
          fc.string({ unit: 'grapheme' }).map((text) => `${text}.example`),
        ),
        (text) => {
          const once = normaliseDomain(text);
          if (once !== null && !once.startsWith('www.')) expect(normaliseDomain(once)).toBe(once);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('the fast path for text that is normalised already', () => {
  const piece = fc.constantFrom(
    'jane',
    'a.b',
    '.',
    '-',
    'x+y',
    '@',
    'acme',
    '.example',
    'www.',
    'xn--',
    'xn--mnchen-3ya',
    'Ä',
    'J',
    '1',
    '"',
    '_',
    '/',
    'https://',
    'de.',
    'linkedin.com',
    '%41',
    '?q',
    '~',
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
    fc
      .tuple(fc.integer({ min: 60, max: 70 }), fc.integer({ min: 180, max: 260 }))
      .map(([local, domain]) => `${'a'.repeat(local)}@${'b.'.repeat(domain / 2)}example`),
  );

  // Spaces do not change the result, but they keep a text off the fast path.
  it('gives the same result as the slow path', () => {
    for (const [known, normalise] of [
      ['jane@acme.example', normaliseEmail],
      ['acme.example', normaliseDomain],
      ['https://profiles.example/in/jane', profileKey],
    ] as const) {
      const same = (given: string): void => {
        expect(normalise(given)).toBe(normalise(` ${given} `));
      };
      same(known);
      fc.assert(fc.property(text, same), { numRuns: 5_000 });
    }
  });
});

describe('profileKey', () => {
  it.each([
    'company/acme',
    'school/acme/',
    'showcase/acme',
    'jobs',
    'feed/update/1',
    'groups/7',
    'sales/company/7',
    'in/',
    'Company/acme?x=1',
  ])('returns null for linkedin.com/%s, which is not the page of a person', (path) => {
    for (const host of ['https://www.linkedin.com', 'https://linkedin.com', 'DE.linkedin.com'])
      expect(profileKey(`${host}/${path}`)).toBeNull();
  });

  it('accepts a person whose name begins like the path of a company or a job', () => {
    expect(['in/company', 'pub/jobs-a'].map((path) => profileKey(`https://www.linkedin.com/${path}`))).toEqual([
      'linkedin.com/in/company',
      'linkedin.com/pub/jobs-a',
    ]);
  });
});
