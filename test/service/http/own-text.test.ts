import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { memoize } from '../../../src/service/records/normalise.ts';
import { contactOf } from '../../../src/service/admin/import/contact.ts';

const [ROWS, CHARACTERS] = [200, 500_000];

it.each([
  ['a text', memoize((text) => text.length)],
  ['an employer', (email: string) => contactOf({ values: { email }, ownEmail: email, isOutput: false, bought: null })],
])('a cached piece of a row does not keep the whole row in memory: %s', (_, remember) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let row = 0; row < ROWS; row++) {
    const email = `ada@employer-number-${row}.example`;
    remember(`${email},`.padEnd(CHARACTERS, 'x').slice(0, email.length));
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((ROWS * CHARACTERS) / 10);
});
