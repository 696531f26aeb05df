import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { remembering } from '../../src/service/fold.ts';

const [ROWS, CHARACTERS] = [200, 500_000];

it('is all that stays of a row, a piece of which is remembered', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const lengthOf = remembering((text) => text.length);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let row = 0; row < ROWS; row++) lengthOf(`${row}`.padEnd(CHARACTERS, 'x').slice(0, 40));
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((ROWS * CHARACTERS) / 10);
});
