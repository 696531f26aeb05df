import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressesIn } from '../../../src/service/store/addresses-in.ts';
import { isLocalPart, normaliseEmail } from '../../../src/verification/address.ts';

const local = fc.oneof(
  fc.stringMatching(/^[a-z]+(\.[a-z]+)?$/),
  fc.array(fc.constantFrom('a', 'é', ' ', '@', '.', ',', String.raw`\"`, String.raw`\\`), { minLength: 1, maxLength: 8 }).map((parts) => `"${parts.join('')}"`),
).filter(isLocalPart);

it('finds every address in a JSON text, plain or quoted, wherever it stands', () => {
  fc.assert(
    fc.property(fc.array(local, { maxLength: 4 }), fc.constantFrom('', 'to "whom": ', 'a@b ', '\\ '), (locals, before) => {
      const addresses = locals.map((one, n) => `${one}@d${n}.example`);
      const json = JSON.stringify({ email: addresses[0], said: `${before}${addresses.join(' and ')}`, deep: [{ mails: addresses }] });
      const found = new Set(addressesIn(json).map(normaliseEmail));
      for (const address of addresses) expect(found).toContain(normaliseEmail(address));
    }),
  );
});

it('takes time in proportion to the text, whatever is in it', () => {
  for (const hostile of ['\\"@', 'a@', '"', '\\"', '\\\\"@x', 'a'.repeat(50)]) expect(addressesIn(JSON.stringify(hostile.repeat(100_000 / hostile.length))).length).toBeLessThanOrEqual(100_000 * 32);
});
