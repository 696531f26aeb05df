import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { domainToASCII } from 'node:url';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { isHostName } from '../../src/verification/domain.ts';
import { checkSyntax } from '../../src/verification/syntax.ts';
import { ownEntries } from '../../fixtures/lists/build-lists.ts';
import { PUBLIC_LISTS, type Recall } from '../../fixtures/lists/compare-lists.ts';
import { isDisposable, isFreeProvider, isRelay, isRole, lookUpLists, namesNoEmployer } from '../../src/verification/lists.ts';
import { SortedLines } from '../../src/verification/lists/sorted-lines.ts';
import { TYPO_DOMAINS } from '../../src/verification/lists/typos.ts';
import { fitsPattern } from '../../src/verification/pattern.ts';
import { registrableDomain, suffixOf } from '../../src/verification/registrable.ts';
import { isOneEditAway } from '../../src/verification/typo.ts';

interface Source {
  readonly package: string;
  readonly version: string;
  readonly origin: string | null;
  readonly licence: string;
  readonly taken: string;
  readonly entries: number;
  readonly sha256: string;
}

const FOLDER = new URL('../../fixtures/lists/', import.meta.url);
const sources = JSON.parse(readFileSync(new URL('sources.json', FOLDER), 'utf8')) as Record<string, Source>;
const text = (list: string): string => readFileSync(new URL(`${list}.txt`, FOLDER), 'utf8');
const lines = (list: string): string[] => text(list).trimEnd().split('\n');

describe('the lists', () => {
  it.each(Object.entries(sources))('%s matches its recorded checksum and is sorted without duplicates', (list, source) => {
    expect(createHash('sha256').update(text(list)).digest('hex')).toBe(source.sha256);
    expect(lines(list).length).toBe(source.entries);
    expect(lines(list).every((entry, n, all) => n === 0 || (all[n - 1] as string) < entry)).toBe(true);
    expect(source.origin).toMatch(/^https:\/\/[\w.-]+\/\S+$/);
    expect(source.taken).toMatch(/^20\d\d-\d\d-\d\d$/);
    const licences = readFileSync(new URL('LICENCES.txt', FOLDER), 'utf8');
    expect(source.licence === 'CC0-1.0' || licences.includes(`== ${source.package}\n`)).toBe(true);
  });

  it('every listed domain is in the normalised form that lookups use', () => {
    for (const list of ['disposable', 'disposable-wide', 'free', 'relay'])
      expect(lines(list).filter((domain) => !isHostName(domain))).toEqual([]);
    expect(Object.keys(TYPO_DOMAINS).filter((domain) => !isHostName(domain))).toEqual([]);
  });

  it('no two lists contradict each other', () => {
    const free = new Set(lines('free'));
    const disposable = new Set(lines('disposable'));
    expect(lines('disposable').filter((domain) => free.has(domain))).toEqual([]);
    expect(lines('disposable-wide').filter((domain) => free.has(domain) || disposable.has(domain))).toEqual([]);
    for (const relay of lines('relay')) expect(disposable.has(relay) || lines('disposable-wide').includes(relay), relay).toBe(false);
    for (const [typo, meant] of Object.entries(TYPO_DOMAINS)) {
      expect(free.has(typo) || disposable.has(typo), typo).toBe(false);
      expect(free.has(meant), meant).toBe(true);
    }
  });

  it('the lists are large, and spare free providers, companies and the names of people', () => {
    expect(lines('disposable').length).toBeGreaterThan(5_000);
    expect(lines('disposable-wide').length).toBeGreaterThan(30_000);
    for (const provider of [
      'gmail.com',
      'outlook.com',
      'yahoo.com',
      'icloud.com',
      'gmx.de',
      'web.de',
      'qq.com',
      'mail.ru',
      'proton.me',
      'posteo.de',
      'duck.com',
      '21cn.com',
      'mail.by',
      'sify.com',
    ]) {
      expect(lookUpLists('jane', provider), provider).toMatchObject({
        disposable: false,
        suspectedDisposable: false,
        free: true,
        didYouMean: null,
      });
    }
    for (const company of ['microsoft.com', 'siemens.com', 'bbc.co.uk', 'toyota.co.jp', 'ox.ac.uk', 'europa.eu', 'acme.example']) {
      expect(lookUpLists('jane', company), company).toMatchObject({
        disposable: false,
        suspectedDisposable: false,
        free: false,
        didYouMean: null,
      });
    }
    for (const person of ['jane', 'alexa', 'paris', 'sydney', 'denver', 'jo', 'li', 'se', '2016', 'informant', 'salesman'])
      expect(isRole(person), person).toBe(false);
    for (const role of ['info', 'sales', 'hr', 'it', 'no-reply', 'info+news', 'buchhaltung', 'ventas', 'support-team'])
      expect(isRole(role), role).toBe(true);
  });

  it('each relay names its service, and is neither disposable, nor suspected, nor an employer', () => {
    const own = text('own/relay').trimEnd().split('\n');
    expect(own.filter((line) => !/^[\w.-]+ # \S/.test(line))).toEqual([]);
    expect(lines('relay')).toEqual(ownEntries(text('own/relay')));
    for (const relay of [
      'mozmail.com',
      'jane.mozmail.com',
      'simplelogin.com',
      'aleeas.com',
      'passmail.net',
      'addy.io',
      'jane.anonaddy.com',
      'duck.com',
      'privaterelay.appleid.com',
      'jane.33mail.com',
      'opayq.com',
      'burnermail.io',
    ]) {
      expect(lookUpLists('jane', relay), relay).toMatchObject({
        relay: true,
        disposable: false,
        suspectedDisposable: false,
        didYouMean: null,
      });
      expect(namesNoEmployer(relay), relay).toBe(true);
    }
    for (const none of ['appleid.com', 'firefox.com', 'gmail.com', 'acme.example', 'mailinator.com', 'spamgourmet.com'])
      expect(isRelay(none), none).toBe(false);
  });

  it('every entry of the strict disposable list is in some public list', () => {
    const recall = JSON.parse(readFileSync(new URL('recall.json', FOLDER), 'utf8')) as Recall;
    expect(recall.sha256, 'run fixtures/lists/compare.ts anew').toBe(createHash('sha256').update(text('disposable')).digest('hex'));
    expect(recall.unlisted).toEqual([]);
    expect(recall.lists.map(({ package: name }) => name)).toEqual(Object.keys(PUBLIC_LISTS));
    expect(Object.keys(recall.own)).toEqual(ownEntries(text('own/disposable')));
    expect(Object.entries(recall.own).filter(([, known]) => known === '')).toEqual([]);
  });

  it('a lookup covers subdomains up to the registered domain', () => {
    expect(isDisposable('a.b.mailinator.com')).toBe(true);
    expect(isDisposable('mailinator.example')).toBe(false);
    expect(isFreeProvider('mail.yahoo.co.uk')).toBe(true);
    expect(isFreeProvider('co.uk')).toBe(false);
  });

  it('SortedLines finds exactly the entries that a set would find', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[a-c.]{1,4}$/), { maxLength: 40 }),
        fc.stringMatching(/^[a-c.]{1,4}$/),
        (entries, probe) => {
          const list = new SortedLines(entries.length === 0 ? '' : `${[...entries].sort().join('\n')}\n`);
          expect(list.has(probe)).toBe(entries.includes(probe));
          for (const entry of entries) expect(list.has(entry)).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('registrableDomain', () => {
  it.each([
    ['mail.acme.co.uk', 'acme.co.uk'],
    ['acme.example', 'acme.example'],
    ['a.b.acme.example', 'acme.example'],
    ['jane.github.io', 'jane.github.io'],
    ['a.b.xn--55qx5d.cn', 'b.xn--55qx5d.cn'],
    ['co.uk', 'co.uk'],
  ])('gives for %s %s', (domain, expected) => {
    expect(registrableDomain(domain)).toBe(expected);
  });
});

it.each([
  ['hotmail.fr', 'fr'],
  ['yahoo.co.uk', 'co.uk'],
  ['jane.github.io', 'io'],
  ['hotmail.ft', null],
  ['acme.example', null],
])('suffixOf gives for %s %s', (domain, suffix) => {
  expect(suffixOf(domain)).toBe(suffix);
});

describe('didYouMean', () => {
  it.each([
    ['jane', 'gmial.com', 'jane@gmail.com'],
    ['jane', 'gmaill.com', 'jane@gmail.com'],
    ['jane', 'gmail.comm', 'jane@gmail.com'],
    ['jane', 'hotmali.com', 'jane@hotmail.com'],
    ['jane', 'yaho.co.uk', 'jane@yahoo.co.uk'],
    ['jane', 'xn--gmil-63d.com', 'jane@gmail.com'],
    ['ｊａｎｅ', 'acme.example', 'jane@acme.example'],
    ['jаne', 'acme.example', 'jane@acme.example'],
    ['jane', 'email.com', null],
    ['jane', 'ymail.com', null],
    ['jane', 'gmx.net', null],
    ['jane', 'dmail.com', null],
    ['jane', 'hotmail.gr', null],
    ['jane', 'outlook.gr', null],
    ['jane', 'outlook.hr', null],
    ['jane', 'yahoo.hr', null],
    ['jane', 'hotmail.ir', null],
    ['jane', 'yahoo.co.ug', null],
    ['jane', 'hotmail.co', 'jane@hotmail.com'],
    ['jane', 'comcast.ne', 'jane@comcast.net'],
    ['jane', 'hotmail.ft', 'jane@hotmail.fr'],
    ['jane', 'hotmial.fr', 'jane@hotmail.fr'],
    ['оксана', 'acme.example', null],
    ['josé', 'acme.example', null],
    ['太郎', 'acme.example', null],
  ])('suggests for %s@%s %s', (local, domain, expected) => {
    expect(lookUpLists(local, domain).didYouMean).toBe(expected);
  });

  it.each([
    ['gmаil.com', 'gmail.com'],
    ['ɡmail.com', 'gmail.com'],
    ['уаhoo.com', 'yahoo.com'],
    ['outlооk.com', 'outlook.com'],
    ['gmx.ԁe', 'gmx.de'],
    ['gmáil.com', 'gmail.com'],
    ['hotmaıl.com', 'hotmail.com'],
    ['münchen.de', null],
    ['почта.рф', null],
    ['wéb.de', null],
    ['例え.jp', null],
  ])('%s looks like %s, which is reported without making it invalid', (shown, provider) => {
    const domain = domainToASCII(shown);
    expect(lookUpLists('jane', domain)).toMatchObject({
      disposable: false,
      lookalike: provider,
      didYouMean: provider === null ? null : `jane@${provider}`,
    });
    expect(checkSyntax(`jane@${shown}`)).toMatchObject({ kind: 'valid', domain });
  });

  it('isOneEditAway holds exactly when one insertion, deletion, change or swap turns one word into the other', () => {
    const edit = fc.tuple(
      fc.stringMatching(/^[ab]{2,6}$/),
      fc.nat(5),
      fc.constantFrom('insert', 'drop', 'change', 'swap'),
      fc.constantFrom('a', 'b', 'c'),
    );
    fc.assert(
      fc.property(edit, ([word, seat, kind, letter]) => {
        const at = seat % word.length;
        const edited = {
          insert: word.slice(0, at) + letter + word.slice(at),
          drop: word.slice(0, at) + word.slice(at + 1),
          change: word.slice(0, at) + letter + word.slice(at + 1),
          swap: word.slice(0, at) + (word[at + 1] ?? '') + (word[at] ?? '') + word.slice(at + 2),
        }[kind];
        expect(isOneEditAway(word, edited)).toBe(word !== edited);
        expect(isOneEditAway(edited, word)).toBe(word !== edited);
      }),
    );
    expect(isOneEditAway('abcd', 'abdce')).toBe(false);
    expect(isOneEditAway('abcd', 'badc')).toBe(false);
  });
});

describe('fitsPattern', () => {
  it.each([
    ['jane.doe', '{first}.{last}', true],
    ['josé.o’neil', '{first}.{last}', true],
    ['j_doe', '{f}_{last}', true],
    ['jane.doe.smith', '{first}.{last}', false],
    ['jane.', '{first}.{last}', false],
    ['jane.99', '{first}.{last}', false],
    ['ja.doe', '{f}.{last}', false],
    ['jdoe', '{f}{last}', false],
    ['jane', null, false],
  ])('%s in the pattern %s: %s', (local, pattern, expected) => {
    expect(fitsPattern(local, pattern)).toBe(expected);
  });
});
