import { expect, it } from 'vitest';
import { csvText } from '../../../src/formats/csv/csv-row.ts';
import { ServiceError } from '../../../src/service/http/problem.ts';
import {
  parseStoredLine,
  serialiseLine,
  storedErased,
  storedOutcome,
  storedUnprocessed,
} from '../../../src/service/batches/result-lines.ts';
import * as fc from '../../support/fast-check.ts';

const CSV = { format: 'csv', escapesFormulas: false } as const;
const row = csvText(',');

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('","error":null,"credits":1}', '"record":{', '=1+1', '\\"', ','),
);
const value = fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null), fc.array(text, { maxLength: 3 }));
/** The last one has the members that follow the record. */
const record = fc.oneof(fc.dictionary(text, value), fc.constant({ name: 'a', error: null, credits: 1, more: 2 }));

/** The cells by the parsed line. */
function cellsOf(json: string): string[] {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return ['line', 'custom_id', 'status', 'record', 'error', 'credits'].map((column) => {
    const value = line[column];
    return value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  });
}

it('the CSV of a succeeded line has the cells of its JSON, whatever its record and its own id are', () => {
  fc.assert(
    fc.property(record, fc.option(text), fc.nat(), fc.nat(5), (found, customId, line, credits) => {
      const stored = storedOutcome(line, { customId, found: { record: JSON.stringify(found), credits, person: null } });
      const { json } = parseStoredLine(Buffer.from(stored.slice(0, -1)));
      expect(serialiseLine(json, CSV)).toBe(row(cellsOf(json)));
    }),
  );
});

it.each([
  ['failed', storedOutcome(1, { customId: 'a', found: new ServiceError('validation_failed', 'no') })],
  ['not found', storedOutcome(2, { customId: null, found: new ServiceError('no_match', 'nobody') })],
  ['unprocessed', storedUnprocessed(3, 'c', null)],
  ['erased', storedErased('{"line":4,"custom_id":null,"credits":1}', new ServiceError('suppressed_person', 'gone'))],
])('the CSV of a line that is %s has the cells of its JSON', (_what, stored) => {
  const { json } = parseStoredLine(Buffer.from(stored.slice(0, -1)));
  expect(serialiseLine(json, CSV)).toBe(row(cellsOf(json)));
});
