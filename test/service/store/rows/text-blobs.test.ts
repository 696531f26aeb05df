import { DatabaseSync } from 'node:sqlite';
import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { AS_TEXT, bytesIn, TextCollector, textIn } from '../../../../src/service/store/rows/text-blobs.ts';

/** Some texts are longer than the initial capacity. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.tuple(fc.constantFrom('a', 'é', '李', '😀'), fc.integer({ min: 1, max: 40_000 })).map(([unit, times]) => unit.repeat(times)),
);

it('texts come back unchanged batch after batch, and SQLite stores their bytes as text', () => {
  const db = new DatabaseSync(':memory:');
  const asText = db.prepare(`SELECT ${AS_TEXT} AS text`);
  const collector = new TextCollector();
  fc.assert(
    fc.property(fc.array(fc.array(text, { maxLength: 6 }), { maxLength: 4 }), (batches) => {
      for (const batch of batches) {
        const spans = batch.map((one) => collector.add(one));
        const texts = collector.take();
        expect(spans.map((span) => textIn(texts, span))).toEqual(batch);
        expect(spans.map((span) => asText.get(bytesIn(texts, span))?.['text'])).toEqual(batch);
      }
    }),
  );
  db.close();
});
