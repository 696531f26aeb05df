/** The declaration of a step: everything in which one step differs from another, as data. Types only. */
import type { FieldTable } from '../client/answer-fields.ts';

export interface StepSpec<N extends string = string> {
  /** As a job, a definition of a provider, the ledger and the report write it. */
  readonly name: N;
  /** A sentence for the reference: the step's work. */
  readonly description: string;
  /** The fields of its record. */
  readonly fields: FieldTable;
  /** The fields of objects in the record, by the name of the object. */
  readonly objects: Readonly<Record<string, readonly string[]>>;
  /** The paths of the standard columns, such as `company.name`. */
  readonly columns: readonly string[];
  /** Every job has these columns, with the step or without. */
  readonly hasColumnsAlways: boolean;
  /** Null for a step whose answers are records: fields settle them, and several providers fill one together. */
  readonly verdicts: Verdicts | null;
}

/** Answers that are verdicts: a word settles them, and each is the word of one provider. */
export interface Verdicts {
  /** The field that has the word. */
  readonly field: string;
  /** The words of the specification. */
  readonly words: readonly string[];
  /** The default of `until`: words that settle a lookup. */
  readonly settling: readonly string[];
}
