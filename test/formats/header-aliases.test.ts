import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import {
  ALIASES,
  describeAliases,
  findKeyColumns,
  keysOr,
  KEY_COLUMNS,
  listNames,
  meantColumn,
  normaliseColumnName,
  PERSON_ALIASES,
  PERSON_COLUMNS,
} from '../../src/formats/header-aliases.ts';

describe('aliases', () => {
  it('aliases match in any case, with any spaces, _, - and byte order mark', () => {
    const all = KEY_COLUMNS.flatMap((key) => ALIASES[key].map((alias) => ({ key, alias })));
    fc.assert(
      fc.property(
        fc.constantFrom(...all),
        fc.constantFrom(' ', '_', '-', '', '  '),
        fc.boolean(),
        fc.boolean(),
        ({ key, alias }, gap, upper, bom) => {
          const spelled = `${bom ? '\ufeff' : ''}${(upper ? alias.toUpperCase() : alias).replaceAll(' ', gap)} `;
          expect(findKeyColumns(['first name', spelled], {})[key]).toBe(spelled);
        },
      ),
    );
  });

  it('an alias belongs to one key only', () => {
    const owner = new Map<string, string>();
    for (const key of KEY_COLUMNS) {
      for (const alias of ALIASES[key]) {
        expect(owner.get(normaliseColumnName(alias)) ?? key).toBe(key);
        owner.set(normaliseColumnName(alias), key);
      }
    }
  });

  it('columns of a person are found only where they are wanted, and have aliases of their own', () => {
    const columns = ['E-Mail', 'Vorname', 'NACHNAME', 'Firma', 'Handy', 'Telefon'];
    expect(findKeyColumns(columns, {})).toEqual({ email: 'E-Mail', domain: null, linkedin_url: null });
    expect(findKeyColumns(columns, { phone: 'Telefon' }, false, PERSON_COLUMNS)).toEqual({
      email: 'E-Mail',
      domain: null,
      linkedin_url: null,
      name: null,
      first_name: 'Vorname',
      last_name: 'NACHNAME',
      company: 'Firma',
      phone: 'Telefon',
      country: null,
    });
    const all = [...Object.values(ALIASES), ...Object.values(PERSON_ALIASES)].flat().map(normaliseColumnName);
    const ofPerson = Object.values(PERSON_ALIASES).flat().map(normaliseColumnName);
    expect(new Set(ofPerson).size).toBe(ofPerson.length);
    for (const alias of ofPerson) expect(all.filter((one) => one === alias)).toHaveLength(1);
  });

  it('a first and a last name are columns of a person without a column of the full name', () => {
    const found = findKeyColumns(['First Name', 'Last Name', 'Website'], {}, true, ['name', 'first_name', 'last_name']);
    expect(keysOr(found, { email: null, domain: null, linkedin_url: null })).toMatchObject({
      name: null,
      first_name: 'First Name',
      last_name: 'Last Name',
    });
  });

  it('aliases are tried in the order of the list, not of the header; the first of several equal columns is used', () => {
    expect(findKeyColumns(['Personal Email', 'Work Email', 'Website', 'Domain'], {})).toEqual({
      email: 'Work Email',
      domain: 'Domain',
      linkedin_url: null,
    });
    expect(findKeyColumns(['Work Email', 'EMAIL', 'e-mail'], {}).email).toBe('EMAIL');
  });

  it('a configured name replaces the aliases', () => {
    expect(findKeyColumns(['email', 'other'], { email: 'other' }).email).toBe('other');
    expect(findKeyColumns(['email', '\ufeffOther Mail'], { email: 'other mail' }).email).toBe('\ufeffOther Mail');
    expect(() => findKeyColumns(['email'], { domain: 'site url' })).toThrow('Found columns: "email"');
    // The first row of a table without a header is a person's data.
    expect(() => findKeyColumns(['Jane Doe', 'jane@acme.example'], { domain: 'site' })).toThrow(
      /^((?!Jane|jane).)*they look like somebody's data: the header may be missing/,
    );
    expect(findKeyColumns(['email'], { domain: 'site url' }, true).domain).toBe('site url');
  });

  it('docs/columns.md has exactly these aliases', async () => {
    expect(await readFile(join(import.meta.dirname, '../../docs/columns.md'), 'utf8')).toBe(describeAliases());
  });
});

describe('a missing column', () => {
  it('the error names the most similar column', () => {
    expect(() => findKeyColumns(['Name', 'Work Email'], { email: 'Wrok Email' })).toThrow(
      'The input has no column "Wrok Email" (input.columns.email); did you mean "Work Email"? Found columns: "Name", "Work Email".',
    );
    expect(meantColumn('colour', ['Name', 'Work Email'])).toBe('.');
  });

  it('the error never shows a name that looks like the data of a first row', () => {
    for (const data of ['ana@works1.example', 'https://linkedin.com/in/ana', '+44 20 7946 0000', '(030) 123-4567']) {
      expect(listNames(['Ana Smith', data])).toBe("2, not shown here, for they look like somebody's data: the header may be missing");
      expect(meantColumn('Ana Smyth', ['Ana Smith', data])).toBe('.');
    }
    expect(listNames(['Employees 2026', 'NAICS 541511'])).toBe('"Employees 2026", "NAICS 541511"');
  });
});
