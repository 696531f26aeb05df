/** The skeleton of a definition: sound as it is, and with every key of the schema. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BEGIN, END, withTables } from '../../../src/providers/definition/reference-tables.ts';
import { skeleton } from '../../../src/providers/new/skeleton.ts';
import { compiled } from '../definition/support.ts';

const TEXT = skeleton('acme', '2026-11-26');
const PAGE = readFileSync('docs/providers.md', 'utf8');

it('the skeleton is a sound definition', () => {
  expect(compiled(TEXT)).toMatchObject({ name: 'acme', readOn: '2026-11-26', operations: { enrich: { keys: ['email'] } } });
});

it('the skeleton has every key of a definition', () => {
  const tables = PAGE.slice(PAGE.indexOf(BEGIN), PAGE.indexOf(END));
  const keys = [...tables.matchAll(/^\| `([^`]+)` \|/gm)].map(([, key = '']) => key.split('.').at(-1) ?? '');
  expect(keys.length).toBeGreaterThan(60);
  const count = (list: readonly string[], key: string): number => list.filter((one) => one === key).length;
  const written = [...TEXT.matchAll(/[\s{](\w+):(?=\s)/g)].map(([, key = '']) => key);
  // A key of several parts is there for each of them.
  expect(keys.filter((key) => count(written, key) < count(keys, key))).toEqual([]);
});

// After a change of the schema run: node src/providers/definition/write-schema.ts
it('the tables of docs/providers.md are current', () => {
  expect(withTables(PAGE)).toBe(PAGE);
  expect(() => withTables('no marks')).toThrow(/lacks the marks/);
});
