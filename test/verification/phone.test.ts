import { describe, expect, it } from 'vitest';
import { callingCode, numberPlan } from '../../src/verification/calling-codes.ts';
import { normalisePhone } from '../../src/verification/phone.ts';

describe('a number with its country', () => {
  it.each([
    ['+44 20 7946 0000', '+442079460000'],
    ['+44 (0)20 7946 0000', '+442079460000'],
    ['0044 20 7946 0000', '+442079460000'],
    ['+39 06 1234567', '+39061234567'],
    ['+1 (212) 555-0100', '+12125550100'],
    ['+49‑30‑901820', '+4930901820'],
  ])('%s is %s, whatever the country of the row', (text, number) => {
    expect(normalisePhone(text)).toBe(number);
    expect(normalisePhone(text, 'FR')).toBe(number);
  });

  it.each([
    '+999 1234567',
    '+999999999999',
    '00999123456789',
    '+2101234567',
    '+0123456789',
    '+1 112 555 0100',
    '+1 212 155 0100',
    '+1 212 555 010',
  ])('%s is no number: nobody has its calling code or its area code', (text) => expect(normalisePhone(text, 'US')).toBeNull());
});

describe('a national number takes the country of its row', () => {
  it.each([
    ['(212) 555-0100', 'US', '+12125550100'],
    ['1 212 555 0100', 'US', '+12125550100'],
    ['011 49 30 901820', 'US', '+4930901820'],
    ['020 7946 0000', 'GB', '+442079460000'],
    ['7700900123', 'GB', '+447700900123'],
    ['030 901820', 'DE', '+4930901820'],
    ['4917112345678', 'DE', '+4917112345678'],
    ['06 12 34 56 78', 'FR', '+33612345678'],
    ['06 1234567', 'IT', '+39061234567'],
    ['612 345 678', 'ES', '+34612345678'],
    ['34 612 345 678', 'ES', '+34612345678'],
    ['9123 4567', 'SG', '+6591234567'],
    ['06 30 123 4567', 'HU', '+36301234567'],
    ['8 912 345-67-89', 'RU', '+79123456789'],
    ['0412 345 678', 'AU', '+61412345678'],
  ])('%s in %s is %s', (text, country, number) => expect(normalisePhone(text, country)).toBe(number));

  it.each([
    ['020 7946 0000', null],
    ['901820', 'DE'],
    ['5501', 'US'],
    ['555-0100', 'US'],
    ['612 345', 'ES'],
    ['020 7946 0000', 'XX'],
    ['ask Ann', 'GB'],
    ['999 555 0100 0000', 'US'],
  ])('%s in %s names nobody', (text, country) => expect(normalisePhone(text, country)).toBeNull());
});

it('the calling code of a country is found in its numbers', () => {
  const countries = ['US', 'DE', 'RU', 'IT', 'ES', 'BR', 'ZA', 'AE', 'XK', 'FO', 'GG'];
  for (const country of countries) expect(callingCode(`${numberPlan(country)?.code}12345678`)).toBe(numberPlan(country)?.code);
  expect(['999', '210', '969', '888'].map((digits) => callingCode(`${digits}12345`))).toEqual([null, null, null, '888']);
});
