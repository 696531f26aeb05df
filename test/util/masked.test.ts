import { expect, it } from 'vitest';
import { masked } from '../../src/util/masked.ts';

it.each([
  ['Ada.Lind@works.example', 'A***@works.example'],
  ['Ada <ada@works.example>', 'Ada <a***@works.example>'],
  ['="ada@works.example"', '="a***@works.example"'],
  ['+44 20 7946 0101', '+44 *** 01'],
  ['12125550100', '121 *** 00'],
  ['https://www.linkedin.com/in/ada-lind?x=1', 'https://www.linkedin.com/in/a***'],
  ['https://www.works.example/about?ref=ada', 'https://www.works.example/about'],
  ['works.example', 'works.example'],
  ['Ada Lind', 'A*** L***'],
  ['', ''],
  [`${'a'.repeat(500)}@works.example`, expect.not.stringContaining('aa@')],
])('the value %j is shown as %j', (text, shown) => {
  expect(masked(text)).toEqual(shown);
});
