import type { InputRecord } from '../formats/input-record.ts';
import type { RecordListener, RecordProcessor } from './process-record.ts';
import { errorOf, KEPT, NO_ANSWERS, type RecordResult } from './result.ts';
import type { Step } from '../steps/registry.ts';

/**
 * Takes a record of a finished run through what failed of it; every other record keeps its row. Steps that went well are answered by the
 * ledger. Where it has forgotten them they are asked again, and a row that would lose by that stays.
 */
export class RetryProcessor {
  readonly #processor: RecordProcessor;
  readonly #steps: readonly Step[];
  readonly #rowOf: (record: InputRecord, result: RecordResult) => Buffer;

  /** @param rowOf how the output writes a result */
  constructor(processor: RecordProcessor, steps: readonly Step[], rowOf: (record: InputRecord, result: RecordResult) => Buffer) {
    this.#processor = processor;
    this.#steps = steps;
    this.#rowOf = rowOf;
  }

  process(record: InputRecord, number: number, listener: RecordListener): void {
    listener.retained(record.finished?.row.length ?? 0);
    if ((record.finished?.error?.step ?? null) === null) {
      this.#processor.skip(number);
      listener.done(KEPT);
    } else {
      this.#processor.process(record, number, {
        retained: (bytes) => listener.retained(bytes),
        done: (result) => listener.done(this.#loses(record, result) ? KEPT : result),
      });
    }
  }

  /** Whether the row has something of a step before the failed one that the result does not have. */
  #loses(record: InputRecord, result: RecordResult): boolean {
    const { row, error } = record.finished ?? {};
    if (row === undefined || error === null || error === undefined || result.outcome === 'suppressed') return false;
    const before = this.#steps.slice(
      0,
      Math.max(
        0,
        this.#steps.findIndex((step) => step === error.step),
      ),
    );
    if (before.every((step) => result[step] !== null)) return false;
    const answers = Object.fromEntries(before.map((step) => [step, result[step]]));
    const asItWas: RecordResult = {
      outcome: 'failed',
      error: errorOf(error.step ?? '', error.code, this.#steps),
      ...NO_ANSWERS,
      ...answers,
      failure: null,
      didYouMean: result.didYouMean ?? null,
    };
    return !this.#rowOf(record, asItWas).equals(row);
  }
}
