import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import {
  companyKey,
  enrichKey,
  keysFor,
  namePartsOf,
  revealKey,
  shownKey,
  verifyKey,
  verifyKeyAsSpelled,
  type RecordKeys,
} from '../../src/processor/lookup-keys.ts';
import type { KeyKind } from '../../src/steps/keys.ts';
import type { Step } from '../../src/steps/registry.ts';

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
    ['a page of a network alone', '', 'https://facebook.com/acme', 'no_key'],
    ['a mailbox provider as the website', '', 'gmail.com', 'no_key'],
    ['a page of a network beside an e-mail', 'ada@gmail.com', 'linktr.ee/acme', { by: 'email', key: 'ada@gmail.com' }],
    ['a bad e-mail alone', 'ada@', '', 'bad_email'],
    ['a placeholder of a provider', ' email_not_unlocked@domain.com', '', 'bad_email'],
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
    [' Ada @ Example ', 'ada @ example'],
    [' Ada at Example ', null],
    ['N/A', null],
    ['@acme', null],
    ['ada@', 'ada@'],
    ['', null],
    ['  ', null],
    [`${'x'.repeat(1_023)}@`, `${'x'.repeat(1_023)}@`],
    [`${'x'.repeat(1_024)}@`, null],
    ['bad \ud800@one', 'bad \ufffd@one'],
  ])('%j is asked for as %j', (email, expected) => {
    expect(verifyKey(email)).toBe(expected);
  });

  it.each([
    ['Ada.Lovelace@Example.com ', 'ada.lovelace@example.com', 'Ada.Lovelace@example.com'],
    ['mailto:Ada@Example.com', 'ada@example.com', 'Ada@example.com'],
    ['Ada <ADA@B\u00dcCHER.example>', 'ada@xn--bcher-kva.example', 'ADA@xn--bcher-kva.example'],
    ['\u00c9mile@example.com', '\u00e9mile@example.com', '\u00c9mile@example.com'],
    ['Ada@Example', 'ada@example', 'ada@example'],
  ])('%j has the key %j and is asked for as %j', (email, key, spelled) => {
    expect(verifyKeyAsSpelled(email)).toEqual({ by: 'email', key, spelled });
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

describe('keysFor', () => {
  const person = { name: '', company: '', phone: '', country: '' };
  const cells = (more: object): Parameters<ReturnType<typeof keysFor>>[0] => ({ email: '', domain: '', linkedinUrl: '', person, ...more });
  const ALL = {
    enrich: [['email', 'linkedin_url', 'phone', 'name', 'domain']],
    reveal: [['linkedin_url', 'email', 'phone', 'name', 'company']],
  } as const;
  const NAMED = { person: { ...person, name: '  Zo\u00eb  O\u2019NEILL ', company: ' ACME\tGmbH' } };

  it.each([
    ['a name with a domain', { ...NAMED, domain: 'https://www.Acme.example/x' }, { by: 'name', key: "zoe o'neill\tacme.example" }],
    ['a name with a bad domain', { ...NAMED, domain: 'localhost' }, null],
    ['a name with a company alone', NAMED, null],
    [
      'a number with its country',
      { person: { ...person, phone: ' 0044 (0)20-7946.0000 ; +1 212 555 0100' } },
      { by: 'phone', key: '+442079460000' },
    ],
    [
      'a full-width number with invisible marks',
      { person: { ...person, phone: '\u202a\uff0b49 30 1234567\u202c' } },
      { by: 'phone', key: '+49301234567' },
    ],
    ['a profile', { linkedinUrl: 'uk.linkedin.com/in/Ada' }, { by: 'linkedin_url', key: 'https://www.linkedin.com/in/ada' }],
    ['a domain alone', { domain: 'acme.example' }, { by: 'domain', key: 'acme.example' }],
    ['the first of several', { ...NAMED, email: 'A@acme.example', domain: 'acme.example' }, { by: 'email', key: 'a@acme.example' }],
  ] as const)('enrich by %s', (_, given, expected) => {
    const keys = keysFor(['enrich'], () => false, ALL)(cells(given));
    expect(typeof keys === 'string' ? null : keys.lookups.enrich).toEqual(expected === null ? null : [expected]);
  });

  it('reveal takes a name with a company or with a domain only where the provider takes it', () => {
    const lookups = (order: readonly KeyKind[]): unknown => keysFor(['reveal'], () => false, { enrich: [], reveal: [order] })(cells(NAMED));
    expect(lookups(['name'])).toBe('no_key');
    expect(lookups(['name', 'company'])).toMatchObject({ lookups: { reveal: [{ by: 'company' }] } });
  });

  it('reveal takes the name of a company where no domain is known', () => {
    const reveal = (given: object): unknown => (keysFor(['reveal'], () => false, ALL)(cells(given)) as RecordKeys).lookups.reveal?.[0];
    expect(reveal(NAMED)).toEqual({ by: 'company', key: "zoe o'neill\tacme gmbh" });
    expect(reveal({ ...NAMED, domain: 'acme.example' })).toEqual({ by: 'name', key: "zoe o'neill\tacme.example" });
    expect(namePartsOf("zoe o'neill\tacme gmbh")).toEqual(["zoe o'neill", 'acme gmbh']);
    expect(shownKey("zoe o'neill\tacme gmbh")).toBe("zoe o'neill at acme gmbh");
  });

  it.each([
    ['bad_email', { email: 'n/a', person: { ...person, phone: '030 12' } }, ['email', 'phone']],
    ['bad_phone', { person: { ...person, phone: '030 12' } }, ['email', 'phone']],
    ['bad_phone', { email: 'ada@acme.example', person: { ...person, phone: '030 12' } }, ['phone']],
    ['bad_profile_url', { linkedinUrl: 'acme.example/ada' }, ['linkedin_url']],
    ['no_key', { ...NAMED, email: 'n/a' }, ['name', 'domain']],
    ['no_key', { email: 'ada@acme.example', linkedinUrl: 'linkedin.com/in/ada' }, ['phone']],
  ] as const)('%s is the reason why nothing is looked up', (reason, given, by) => {
    expect(keysFor(['enrich', 'verify'], () => false, { ...ALL, enrich: [by] })(cells(given))).toBe(reason);
  });

  it('a bad address is the reason where any step would have used it: it would have named the company', () => {
    const reason = (steps: readonly Step[], given: object): unknown =>
      keysFor(steps, () => false, { ...ALL, enrich: [['domain']] })(cells(given));
    expect(reason(['enrich', 'company'], { email: 'ada at home' })).toBe('bad_email');
    expect(reason(['enrich'], { email: 'ada at home' })).toBe('no_key');
    expect(reason(['enrich', 'company'], { email: '' })).toBe('no_key');
  });

  it('a job without further keys uses address, domain and profile alone', () => {
    const keys = keysFor(['enrich', 'reveal'], () => false);
    expect(keys(cells({ ...NAMED, domain: 'acme.example', email: '' }))).toEqual({
      lookups: { enrich: [{ by: 'domain', key: 'acme.example' }] },
      cleanedEmail: null,
      decides: 'enrich',
    });
  });

  it('one person has one key, however the name is written, and the key is stable', () => {
    const key = (name: string): string | undefined => {
      const keys = keysFor(['enrich'], () => false, ALL)(cells({ domain: 'a.example', person: { ...person, name } }));
      return typeof keys === 'string' || keys.lookups.enrich?.[0]?.by !== 'name' ? undefined : keys.lookups.enrich[0].key;
    };
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.constantFrom('', ' ', '\u00a0', '\u200b'), (name, space) => {
        const found = key(name);
        if (found === undefined) return;
        expect(found.split('\t')).toHaveLength(2);
        expect(key(`${space}${namePartsOf(found)[0]}${space}`)).toBe(found);
      }),
    );
  });
});
