import { describe, expect, it } from 'vitest';
import { phoneIn } from '../../src/verification/phone-text.ts';

describe('a cell', () => {
  it.each([
    '+44 20 7946 0101',
    "'+44 20 7946 0101",
    '="+442079460101"',
    '"+44 20 7946 0101"',
    'tel:+44-20-7946-0101',
    'tel:+442079460101;ext=5',
    'Tel.: +44 20 7946 0101',
    'callto:+442079460101',
    'M: +44 20 7946 0101',
    '+44 20 7946 0101 ext. 5',
    '+44 20 7946 0101 extension 512',
    '+44 20 7946 0101 x12',
    '+44 20 7946 0101x12',
    '+44 20 7946 0101 #12',
    '+44 20 7946 0101, ext 5',
    '+44 20 7946 0101 (mobile)',
    '(mobile) +44 20 7946 0101',
    '+44 20 7946 0101 [work]',
    '+44 20 7946 0101 mobile',
    '+44 (0)20 7946 0101',
    '0044 20 7946 0101',
    '\uff0b\uff14\uff14 \uff12\uff10 \uff17\uff19\uff14\uff16 \uff10\uff11\uff10\uff11',
    '+\u0664\u0664\u0662\u0660\u0667\u0669\u0664\u0666\u0660\u0661\u0660\u0661',
    '+44\u00a020\u20117946\u20130101',
    '\u202a+44 20 7946 0101\u202c',
    '+44 20 7946 0101; +44 20 7946 0102',
    '+44 20 7946 0101 / +44 20 7946 0102',
  ])('a cell with %j has the number +442079460101', (text) => {
    expect(phoneIn(text)).toBe('+442079460101');
  });

  it.each([
    ['12125550100', '+12125550100'],
    ['12125550100.0', '+12125550100'],
    ['1-212-555-0100', '+12125550100'],
  ])('a cell with %j has the North American number %s', (text, number) => {
    expect(phoneIn(text)).toBe(number);
  });

  it.each([
    '',
    'N/A',
    '020 7946 0101',
    '4.42079E+11',
    'ext. 5',
    '13800138000',
    'Ann 5',
    '020 7946 0101, +44 20 7946 0102',
    '+1',
    'x'.repeat(5_000),
  ])('a cell with %j has no number', (text) => {
    expect(phoneIn(text)).toBeNull();
  });
});

it('a national number of a cell takes the country of its row', () => {
  expect([phoneIn('Tel. 030 901820 (office)', 'DE'), phoneIn('(212) 555-0100 x12', 'US'), phoneIn('030 901820')]).toEqual([
    '+4930901820',
    '+12125550100',
    null,
  ]);
});
