import type { FinishedError, FinishedOpen, InputRecord } from '../formats/input-record.ts';
import type { RecordListener, RecordProcessor } from './process-record.ts';
import { errorOf, KEPT, type RecordResult } from './result.ts';
import type { Step } from '../steps/registry.ts';

/**
 * Takes a record of a finished run through what failed of it, or what it lacks because a provider gave no answer; every other record keeps
 * its row. Steps that went well are answered by the ledger. Where it has forgotten them they are asked again, and a row that would lose by
 * that stays.
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
    const { error = null, open = null } = record.finished ?? {};
    if ((error?.step ?? null) === null && open === null) {
      this.#processor.skip(number);
      listener.done(KEPT);
    } else {
      this.#processor.process(record, number, {
        retained: (bytes) => listener.retained(bytes),
        done: (result) => listener.done(this.#loses(record, result) ? KEPT : result),
      });
    }
  }

  #loses(record: InputRecord, result: RecordResult): boolean {
    const { finished } = record;
    // A person who asked to be removed loses the row's content.
    if (finished === undefined || result.outcome === 'suppressed') return false;
    const { row, error, open } = finished;
    return open === null ? this.#failedLoses(record, row, error, result) : openLoses(open, result);
  }

  /** Whether the row of a failed record has something of a step before the failed one that the result does not have. */
  #failedLoses(record: InputRecord, row: Buffer, error: FinishedError | null, result: RecordResult): boolean {
    if (error === null) return false;
    const before = this.#steps.slice(
      0,
      Math.max(
        0,
        this.#steps.findIndex((step) => step === error.step),
      ),
    );
    if (before.every((step) => result.answers[step] !== undefined)) return false;
    const answers = Object.fromEntries(Object.entries(result.answers).filter(([step]) => before.includes(step)));
    const asItWas: RecordResult = {
      outcome: 'failed',
      error: errorOf(error.step ?? '', error.code, this.#steps),
      answers,
      failure: null,
      didYouMean: result.didYouMean ?? null,
    };
    return !this.#rowOf(record, asItWas).equals(row);
  }
}

/** Whether the result lacks a step that the open row has, or a wanted field that the row does not lack. */
function openLoses({ steps }: FinishedOpen, result: RecordResult): boolean {
  return steps.some(({ step, missing, providers }) => {
    if (!providers.some(({ end }) => end === 'matched')) return false;
    const lacks = result.open?.find((one) => one.step === step)?.missing ?? [];
    return result.answers[step] === undefined || lacks.some((field) => !missing.includes(field));
  });
}
