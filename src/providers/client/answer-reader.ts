/** Reads the answers of one operation: what they cost, what they mean, and the record of a match. */
import type { Unsuccessful, ClassifyOptions } from '../../client/classify.ts';
import type { Answer } from '../../client/answer.ts';
import { oneLine } from '../../client/problem.ts';
import type { Redactor } from '../../client/redactor.ts';
import type { CallMeta, CallResult, Miss, Rejected } from '../../client/types.ts';
import type { AnswerRules, Mapping, ProviderOperation } from '../compiled-provider.ts';
import type { CallWatch } from './call-watch.ts';
import { judge, readSaid, type Judgement, type Said } from './judge.ts';
import type { LookupInput } from './lookup-text.ts';
import { mapRecord, undecidedRecord, type MappedRecord } from './map-record.ts';
import { NotTaken, Refusal } from './refusal.ts';
import { storedAnswer, storedMiss } from './stored-answer.ts';

/** Makes the value of a match. @param record empty when no field has a value @param text of the body; null for an item of a batch */
export type ToValue<T> = (record: MappedRecord, said: Said, text: string | null, lookup: LookupInput) => T;

/** An answer, and how it is classified. */
export interface Exchanged {
  readonly answer: Answer;
  readonly options: ClassifyOptions;
}

export class AnswerReader<T> {
  readonly operation: ProviderOperation;
  readonly #redactor: Redactor;
  readonly #watch: CallWatch | null;
  readonly #toValue: ToValue<T>;

  constructor(
    operation: ProviderOperation,
    { redactor, watch }: { readonly redactor: Redactor; readonly watch: CallWatch | null },
    toValue: ToValue<T>,
  ) {
    this.operation = operation;
    this.#redactor = redactor;
    this.#watch = watch;
    this.#toValue = toValue;
  }

  /** @param credits null: those of the built-in header */
  async read({ answer, options }: Exchanged, credits: Mapping | null): Promise<Said | Unsuccessful> {
    const said = readSaid(answer, options);
    return 'input' in said && credits !== null ? this.withCredits(said, credits) : said;
  }

  /** An answer whose credits cannot be told counts as the dearest: a limit of credits must hold. */
  async withCredits(said: Said, credits: Mapping): Promise<Said> {
    const { creditsAtMost } = this.operation;
    const told = await credits.evaluate(said.input).catch(() => creditsAtMost);
    // The answer names none: whether it costs something depends on what it is.
    if (told === undefined || told === null)
      return { ...said, answer: { ...said.answer, meta: { ...said.answer.meta, credits: 0, namesNoCredits: true } } };
    const isReadable = typeof told === 'number' && Number.isFinite(told) && told >= 0;
    const spent = isReadable ? told : creditsAtMost;
    const { namesNoCredits: _none, ...meta } = said.answer.meta;
    return { ...said, answer: { ...said.answer, meta: { ...meta, credits: spent } } };
  }

  async taken(
    judgement: Exclude<Judgement, { kind: 'pending' }>,
    said: Said,
    lookup: LookupInput,
    text: string | null,
  ): Promise<CallResult<T>> {
    if (judgement.kind === 'miss') return this.#missed(judgement, said, text);
    if (judgement.kind !== 'match' && judgement.kind !== 'undecided') return judgement;
    const { meta } = said.answer;
    const isJudged = judgement.kind === 'match';
    try {
      const record = isJudged ? ((await mapRecord(this.operation, said.input)) ?? {}) : await undecidedRecord(this.operation, said.input);
      return record === null
        ? this.#missed({ kind: 'miss', meta }, said, text)
        : { kind: 'ok', value: this.#toValue(record, said, text, lookup), meta };
    } catch (error) {
      return this.#unfit(error, said, text, isJudged || !(error instanceof NotTaken));
    }
  }

  /** A corrected rule may find a record in an answer that is a miss today. */
  #missed(miss: Miss, { input }: Said, text: string | null): Miss {
    if (this.operation.name === 'verify' || input.body === undefined) return miss;
    const stored = storedMiss(this.operation, input, text);
    return stored === null ? miss : { ...miss, stored };
  }

  /** An answer that is paid for, and that the definition does not fit. @param isJudged only its record does not fit */
  #unfit(error: unknown, { input, answer }: Said, text: string | null, isJudged = false): Rejected {
    const refused = this.refused(error, answer.meta);
    // Verdicts are kept as they are mapped, so that there is nothing to keep.
    const isKept = this.operation.name !== 'verify' && (isJudged || (input.status >= 200 && input.status < 300));
    return isKept ? { ...refused, stored: storedAnswer(this.operation, input, text, isJudged) } : refused;
  }

  /**
   * Judges an answer. A rule that fails on a success leaves an answer that is paid for.
   * @param rules of a batch; absent: those of the operation
   */
  async judged(said: Said, options: ClassifyOptions, rules: AnswerRules = this.operation.answers): Promise<Judgement> {
    try {
      return await judge(rules, said, options, this.#watch);
    } catch (error) {
      if (rules !== this.operation.answers) throw error;
      return this.#unfit(error, said, said.answer.text);
    }
  }

  /** A refusal as the result of a call. Throws anything else. */
  refused(error: unknown, meta: CallMeta): Rejected {
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error;
    return { kind: 'rejected', code, detail: oneLine(this.#redactor.words(message)), meta };
  }
}
