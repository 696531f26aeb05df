import { describe, expect, it } from 'vitest';
import { DISPOSABLE_DOMAINS } from '../../src/verification/lists/disposable.ts';
import { FREE_DOMAINS } from '../../src/verification/lists/free.ts';
import { ROLE_LOCAL_PARTS } from '../../src/verification/lists/role.ts';
import { TYPO_DOMAINS } from '../../src/verification/lists/typos.ts';
import { isDisposable, isFreeProvider, isRole } from '../../src/verification/lists.ts';
import { isHostName } from '../../src/verification/domain.ts';
import { fitsPattern } from '../../src/verification/pattern.ts';

describe('the lists', () => {
  it('name each domain once, in the form in which it is looked up', () => {
    for (const list of [DISPOSABLE_DOMAINS, FREE_DOMAINS, Object.keys(TYPO_DOMAINS)]) {
      expect(new Set(list).size).toBe(list.length);
      expect(list.filter((domain) => !isHostName(domain))).toEqual([]);
    }
    expect(new Set(ROLE_LOCAL_PARTS).size).toBe(ROLE_LOCAL_PARTS.length);
    expect(ROLE_LOCAL_PARTS.filter((local) => local !== local.toLowerCase())).toEqual([]);
  });

  it('contradict one another nowhere: a slip is no provider, and what was meant is one', () => {
    for (const [typo, meant] of Object.entries(TYPO_DOMAINS)) {
      expect(isFreeProvider(typo) || isDisposable(typo), typo).toBe(false);
      expect(isFreeProvider(meant), meant).toBe(true);
    }
    expect(DISPOSABLE_DOMAINS.filter(isFreeProvider)).toEqual([]);
  });

  it('know subdomains of disposable providers, but not names that end alike', () => {
    expect(isDisposable('a.b.mailinator.com')).toBe(true);
    expect(isDisposable('notmailinator.com')).toBe(false);
    expect(isRole('info+news')).toBe(true);
    expect(isRole('informant')).toBe(false);
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
  ])('%s of %s: %s', (local, pattern, expected) => {
    expect(fitsPattern(local, pattern)).toBe(expected);
  });
});
