import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { companyKey, enrichKey, revealKey, verifyKey, verifyKeyAsSpelled } from '../../src/processor/lookup-keys.ts';

describe('enrichKey', () => {
  it.each([
    ['a plausible e-mail', ' Ada@Example.COM ', 'other.example', { by: 'email', key: 'ada@example.com' }],
    ['a bad e-mail with a domain', 'ada at example.com', 'https://www.Example.com/about', { by: 'domain', key: 'example.com' }],
    ['a domain alone', '', 'EXAMPLE.com.', { by: 'domain', key: 'example.com' }],
    ['an international domain', '', 'bücher.example', { by: 'domain', key: 'xn--bcher-kva.example' }],
    ['an international e-mail', 'jo@bücher.example', '', { by: 'email', key: 'jo@xn--bcher-kva.example' }],
    ['nothing', '', '', 'no_key'],
    ['spaces', '  ', ' ', 'no_key'],
    ['a bad domain alone', '', 'localhost', 'no_key'],
    ['a bad e-mail alone', 'ada@', '', 'bad_email'],
    ['a bad e-mail and a bad domain', 'n/a', 'n/a', 'bad_email'],
    ['an e-mail that is far too long', `${'a'.repeat(5_000)}@example.com`, '', 'bad_email'],
  ] as const)('%s', (_, email, domain, expected) => {
    expect(enrichKey(email, domain)).toEqual(expected);
  });

  it('gives one key to one person, however they are written, and is stable', () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
    fc.assert(
      fc.property(word, word, fc.constantFrom('', ' ', '\t'), fc.func(fc.boolean()), (local, host, space, upper) => {
        const plain = `${local}@${host}.example`;
        const written = Array.from(plain, (c, i) => (upper(i) ? c.toUpperCase() : c)).join('');
        expect(enrichKey(`${space}${written}${space}`, '')).toEqual({ by: 'email', key: plain });
        expect(enrichKey(plain, 'x.example')).toEqual({ by: 'email', key: plain });
      }),
    );
  });

  it('takes any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 60 }), (email, domain) => {
        const found = enrichKey(email, domain);
        if (typeof found !== 'string') expect(found.key).toBe(found.key.trim().toLowerCase());
      }),
    );
  });
});

describe('verifyKey', () => {
  it.each([
    ['Ada@Example.com ', 'ada@example.com'],
    [' Ada at Example ', 'ada at example'],
    ['ada@', 'ada@'],
    ['', null],
    ['  ', null],
    ['x'.repeat(1_024), 'x'.repeat(1_024)],
    ['x'.repeat(1_025), null],
    ['bad \ud800 one', 'bad \ufffd one'],
  ])('%j is asked for as %j', (email, expected) => {
    expect(verifyKey(email)).toBe(expected);
  });

  it.each([
    ['Ada.Lovelace@Example.com ', 'ada.lovelace@example.com', 'Ada.Lovelace@example.com'],
    ['mailto:Ada@Example.com', 'ada@example.com', 'Ada@example.com'],
    ['Ada <ADA@B\u00dcCHER.example>', 'ada@xn--bcher-kva.example', 'ADA@xn--bcher-kva.example'],
    ['\u00c9mile@example.com', '\u00e9mile@example.com', '\u00c9mile@example.com'],
    ['Ada at Example', 'ada at example', 'ada at example'],
  ])('%j has the key %j and is asked for as %j', (email, key, spelled) => {
    expect(verifyKeyAsSpelled(email)).toEqual({ key, spelled });
  });

  it('keeps a spelling that lower-cases to the key, so that the answer is found by it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ unit: 'grapheme', maxLength: 20 })), (local) => {
        const found = verifyKeyAsSpelled(`${local}@example.com`);
        if (found !== null) expect(found.spelled.toLowerCase()).toBe(found.key);
      }),
    );
  });

  it('maps a key to itself, well-formed and never empty', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (email) => {
        const key = verifyKey(email);
        if (key === null) return;
        expect(key).not.toBe('');
        expect(key.isWellFormed()).toBe(true);
        expect(verifyKey(key)).toBe(key);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('companyKey', () => {
  const isFree = (domain: string): boolean => domain === 'free.example';

  it.each([
    ['ada@acme.example', ' HTTPS://www.Example.com:8080/about ', 'example.com'],
    ['ada@free.example', 'free.example', 'free.example'],
    ['Ada@Acme.example ', '', 'acme.example'],
    ['ada@bücher.example', 'n/a', 'xn--bcher-kva.example'],
    ['ada@free.example', '', null],
    ['ada@', '', null],
    ['', ' ', null],
  ])('%j and %j: %j', (email, domain, expected) => {
    expect(companyKey(verifyKey(email), domain, isFree)).toBe(expected);
  });
});

describe('revealKey', () => {
  it.each([
    ['https://www.linkedin.com/in/ada', 'https://www.linkedin.com/in/ada'],
    [' http://UK.linkedin.com/in/Ada/?utm=1#top ', 'https://www.linkedin.com/in/ada'],
    ['linkedin.com/in/jos%C3%A9', 'https://www.linkedin.com/in/jos%C3%A9'],
    ['linkedin.com/in/josé', 'https://www.linkedin.com/in/jos%C3%A9'],
    ['//profiles.example/in/ada%3Fb', 'https://profiles.example/in/ada%3Fb'],
    ['ada', null],
    ['linkedin.com', null],
    ['n/a', null],
    ['', null],
  ])('%j is asked for as %j', (given, expected) => {
    expect(revealKey(given)).toBe(expected);
  });

  it('maps a key to itself, and makes only HTTPS URLs', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.string({ unit: 'binary', maxLength: 40 }).map((path) => `linkedin.com/in/${path}`),
        ),
        (given) => {
          const key = revealKey(given);
          if (key === null) return;
          expect(new URL(key).protocol).toBe('https:');
          expect(revealKey(key)).toBe(key);
        },
      ),
      { numRuns: 500 },
    );
  });
});
