import { describe, expect, it } from 'vitest';
import { isPassedOver } from '../../src/sources/file-names.ts';

describe('a folder or a wildcard', () => {
  it.each([
    ['data/.leads.csv', 'data/*.csv'],
    ['data/._leads.csv', 'data/**/*.csv'],
    ['data/.ipynb_checkpoints/leads.csv', 'data/**/*.csv'],
    ['out/_temporary/0/part-0.csv', 'out/**/*.csv'],
    ['/data/.in/.old/a.csv', '/data/.in/**/*.csv'],
    ['out/_SUCCESS', 'out/*'],
    ['out/_delta_log/00.json', 'out/**'],
    ['a/__MACOSX/leads.csv', 'a/**/*.csv'],
    ['~$leads.csv', '*.csv'],
  ])('passes over %s for %s', (path, pattern) => {
    expect(isPassedOver(path, pattern)).toBe(true);
  });

  it.each([
    ['data/leads.csv', 'data/*.csv'],
    ['data/_leads.csv', 'data/*.csv'],
    ['../data/leads.csv', '../data/*.csv'],
    ['/data/.in/a.csv', '/data/.in/**/*.csv'],
    ['data/.leads.csv', 'data/.*.csv'],
    ['out/_temporary/a.csv', 'out/_temporary/*.csv'],
    ['data/.old/a.csv', 'data/.*/*.csv'],
  ])('takes %s for %s', (path, pattern) => {
    expect(isPassedOver(path, pattern)).toBe(false);
  });
});
