import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { wrapWords } from '../../src/util/wrap-words.ts';

it('breaks between words, and indents what follows', () => {
  expect(wrapWords('warning: a line that is too long', 16, '  ')).toEqual(['warning: a line', '  that is too', '  long']);
});

it('keeps every word whole and in order, and no line longer than the terminal unless one word is', () => {
  const word = fc.stringMatching(/^[a-z/]{1,12}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 40 }), (words, columns) => {
      const lines = wrapWords(words.join(' '), columns, '  ');
      expect(lines.flatMap((line) => line.trim().split(' '))).toEqual(words);
      for (const line of lines) if (line.trim().includes(' ')) expect(line.length).toBeLessThanOrEqual(columns);
    }),
  );
});
