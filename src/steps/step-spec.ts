/** The declaration of a step: everything in which one step differs from another, as data. Types only. */
import type { FieldTable } from '../client/answer-fields.ts';
import type { KeyKind, KeyName } from './keys.ts';

/** A key of a step's section in a job file. */
export type StepOption = 'by' | 'minLikelihood' | 'required' | 'when' | 'patienceMs';

export interface StepSpec<N extends string = string, O extends StepOption = StepOption> {
  /** As a job, a definition of a provider, the ledger and the report write it. */
  readonly name: N;
  /** A sentence for the reference: the step's work. */
  readonly description: string;
  /** Words of a path, an id or a summary that speak for the step in the OpenAPI document of a vendor. */
  readonly words: RegExp;
  /** A job that names no steps has it. Every job has its columns, with the step or without. */
  readonly isUsual: boolean;
  /** A definition of a provider declares it, and no file here. */
  readonly isOwn?: true;

  /** The keys of the specification's service, in order of preference. */
  readonly keys: readonly KeyKind[];
  /** The names of those that a job uses where it does not say. */
  readonly usual: readonly KeyName[];
  /** Keys that only other providers take. */
  readonly moreKeys?: readonly KeyKind[];
  /** The text of the only scope at the specification's service, in place of that of its key. */
  readonly serviceScope?: string;
  /** `service.fields.domain` renames the field of a domain in its request. */
  readonly hasDomainField?: true;
  /** A text with an @ is sent even if it is no address, as the record spells it: the provider says what is wrong with it. */
  readonly takesBadAddresses?: true;
  /** Without a domain of its own, a record is looked up by that of its address, unless the address names no employer. */
  readonly takesDomainOfAddress?: true;
  /** Absent: a record is looked up by its own keys alone. */
  readonly follows?: Follows;
  /** The lowest rank that has a key decides the outcome of a record. A step that follows another one of the job never does. Null: never. */
  readonly rank: number | null;

  /** The keys of its section in a job file. */
  readonly options: readonly O[];
  /** Those of `options` that older versions lack: the fingerprint of a job has them only where they are not the default. */
  readonly lateOptions?: readonly O[];
  /** The rest of the description of `by`. */
  readonly aboutKeys?: string;

  /** The fields of its record. */
  readonly fields: FieldTable;
  /** The fields of objects in the record other than a company, by the name of the object. */
  readonly objects?: Readonly<Record<string, readonly string[]>>;
  /** The paths of the standard columns, such as `company.name`. */
  readonly columns: readonly string[];
  /** Null for a step whose answers are records: fields settle them, and several providers fill one together. */
  readonly verdicts: Verdicts | null;
}

/** An earlier step that may find the key of a record without one. */
export interface Follows {
  readonly step: string;
  /** The field of its record that is a key, and its kind. */
  readonly field: KeyKind;
  /** With `when: unverified`, a record in which this field is true skips the step. */
  readonly unless: string;
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
