import { readFile } from 'node:fs/promises';
import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { BatchRows, type BatchRow } from '../../../src/service/batches/batch-rows.ts';
import { ACTIVE, hasEnded, mayFollow, NEXT, STATES } from '../../../src/service/batches/states.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeStore } from '../harness.ts';

it('a job follows the table of states, its lines always add up, and an end state is final', async () => {
  const store = openStore(await makeStore());
  let nowMs = 1;
  const rows = new BatchRows(store, () => nowMs);
  let number = 0;
  const find = (id: string): BatchRow => rows.find(id) ?? expect.fail();
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...STATES), { maxLength: 40 }), fc.integer({ min: 0, max: 20 }), (wanted, total) => {
      const id = `j${number++}`;
      rows.create(id, 'k', { operation: 'enrich', format: 'ndjson', options: {}, metadata: null, webhookUrl: null, maxCredits: null });
      rows.setTotal(find(id), total, null, 1);
      let known = 'open' as BatchRow['state'];
      for (const to of wanted) {
        nowMs++;
        if (mayFollow(known, to)) {
          expect(rows.move(find(id), to).state).toBe(to);
          known = to;
          expect(find(id).times[to]).toBe(nowMs);
        } else expect(() => rows.move(find(id), to)).toThrow(`a job that is ${known} cannot become ${to}`);
        const { state, position, counts } = find(id);
        expect(state).toBe(known);
        if (state === 'in_progress' && position.line < total)
          rows.addProgress(find(id), {
            position: { ...position, line: position.line + 1 },
            counts: { succeeded: 0, not_found: 0, failed: 1 },
            credits: 0,
          });
        expect(counts.succeeded + counts.not_found + counts.failed).toBeLessThanOrEqual(total);
        // A state waits for the client, for the service, or is an end.
        expect([state === 'open', ACTIVE.includes(state), hasEnded(state)].filter(Boolean)).toHaveLength(1);
      }
    }),
    { numRuns: 200 },
  );
  store.close();
});

it('every state leads to an end state', () => {
  const leading = new Set(STATES.filter(hasEnded));
  for (const _ of STATES) for (const state of STATES) if (NEXT[state].some((next) => leading.has(next))) leading.add(state);
  expect([...leading].toSorted()).toEqual([...STATES].toSorted());
});

it('docs/batches.md shows the table of states', async () => {
  const text = await readFile('docs/batches.md', 'utf8');
  const table = text.slice(text.indexOf('## States'), text.indexOf('`times` says'));
  const rows = [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| .* \| (.*) \|$/gm)].flatMap(([, names = '', next = '']) =>
    wordsIn(names).map((name) => [name, wordsIn(next)] as const),
  );
  // The last column of end states is empty.
  const ends = [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| .* \| \|$/gm)].flatMap(([, names = '']) =>
    wordsIn(names).map((name) => [name, []] as const),
  );
  expect(Object.fromEntries([...rows, ...ends])).toEqual(Object.fromEntries(STATES.map((state) => [state, NEXT[state]])));
});

function wordsIn(text: string): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, word = '']) => word);
}
