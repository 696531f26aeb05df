import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { addressesIn } from '../../../src/service/records/addresses-in.ts';
import { isLocalPart, normaliseEmail } from '../../../src/verification/address.ts';

const local = fc
  .oneof(
    fc.stringMatching(/^[a-z]+(\.[a-z]+)?$/),
    fc
      .array(fc.constantFrom('a', 'é', ' ', '@', '.', ',', String.raw`\"`, String.raw`\\`), { minLength: 1, maxLength: 8 })
      .map((parts) => `"${parts.join('')}"`),
  )
  .filter(isLocalPart);

/** Characters around an address in a sentence or a link. */
const AROUND = [
  ['', ''],
  ['(', ')'],
  ['<', '>'],
  ['mailto:', '?subject=x'],
  ['https://x.example/?to=', '&x=1'],
  ['[', '], '],
  ['', '!'],
  ['', '.'],
] as const;

it('every address in a JSON text is found, plain or quoted, at any place', () => {
  fc.assert(
    fc.property(
      fc.array(local, { maxLength: 4 }),
      fc.constantFrom('', 'to "whom": ', 'a@b ', '\\ ', 'At:\n'),
      fc.constantFrom(...AROUND),
      (locals, before, [left, right]) => {
        const addresses = locals.map((one, n) => `${one}@d${n}.example`);
        const found = new Set(
          addressesIn(JSON.stringify({ said: `${before}${addresses.map((one) => `${left}${one}${right}`).join(' and ')}` })),
        );
        for (const address of addresses) expect(found).toContain(normaliseEmail(address));
      },
    ),
  );
});

it('addresses are found in values and names of members, and percent-encoded in links', () => {
  expect(addressesIn(JSON.stringify({ 'a@d.example': [{ deep: 'b%40d.example' }], c: 5 })).toSorted()).toEqual([
    'a@d.example',
    'b@d.example',
  ]);
});

it('the search for addresses stops at its limit', () => {
  expect(addressesIn(JSON.stringify(Array.from({ length: 30_000 }, (_, n) => `u${n}@d.example`))).length).toBe(10_000);
});
