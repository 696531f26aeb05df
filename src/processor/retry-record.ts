import type { Step } from '../job/types.ts';
import type { InputRecord } from '../reader/types.ts';
import type { RecordProcessor } from './process-record.ts';
import { KEPT, type RecordResult } from './result.ts';

type Process = RecordProcessor['process'];

/**
 * Takes a record of a finished run through what failed of it; every other record keeps its row. Steps that went well
 * are answered by the ledger. Where it has forgotten them they are asked again, and a row that would lose by that stays.
 */
export class RetryProcessor {
  readonly #processor: RecordProcessor;
  readonly #firstStep: Step | undefined;
  readonly #rowOf: (record: InputRecord, result: RecordResult) => Buffer;

  /** @param rowOf how the output writes a result */
  constructor(processor: RecordProcessor, steps: readonly Step[], rowOf: (record: InputRecord, result: RecordResult) => Buffer) {
    this.#processor = processor;
    this.#firstStep = steps[0];
    this.#rowOf = rowOf;
  }

  process(...[record, number, done, held]: Parameters<Process>): void {
    held(record.finished?.row.length ?? 0);
    if ((record.finished?.error?.step ?? null) === null) {
      this.#processor.skip(number);
      done(KEPT);
    } else {
      this.#processor.process(record, number, (result) => done(this.#loses(record, result) ? KEPT : result), held);
    }
  }

  /** Whether the row has something of an earlier step that the result does not have. */
  #loses(record: InputRecord, result: RecordResult): boolean {
    const { row, error } = record.finished ?? {};
    if (row === undefined || error === null || error === undefined || error.step === this.#firstStep || result.enrich !== null || result.outcome === 'suppressed') return false;
    const withNothing: RecordResult = { outcome: 'failed', error: `${error.step}:${error.code}`, enrich: null, verify: null, failure: null };
    return !this.#rowOf(record, withNothing).equals(row);
  }
}
