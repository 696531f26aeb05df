/** Notices that a provider has changed the shape of its answers. */
import type { BatchItem } from '../../client/provider-client.ts';
import type { CallAnswer } from '../../pool/call.ts';
import { ConfigError } from '../../util/errors.ts';

/** A run stops after this many lookups whose answers are not as the definition says, without a match between them. */
const CHANGED_AFTER = 100;
/** One answer that is unfit as a whole ends no run, however many lookups it was for: it may be another server's. */
const MOST_OF_ONE = CHANGED_AFTER / 2;
/** The same of one that is no JSON: a gateway may send a few of those in a row. */
const MOST_OF_ONE_UNREADABLE = CHANGED_AFTER / 10;

/** Codes of lookups of which the definition makes no request. */
const UNSENT: ReadonlySet<string> = new Set(['bad_mapping', 'bad_request']);

/** Codes of answers that are not as the definition says. */
const UNEXPECTED: ReadonlySet<string> = new Set(['bad_shape', 'bad_mapping']);

export class ShapeWatch {
  readonly #file: string;
  #inARow = 0;
  #hasTold = false;
  #hasWarned = false;
  /** Shows the first such answer; set once the provider is open. */
  onFirst: (text: string) => void = () => undefined;
  /** Ends the run; set once the provider is open. */
  onChange: (error: ConfigError) => void = () => undefined;

  /** @param file the definition, for the message */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * A match ends a row, and so does a promise. Answers that say nothing of a record's shape, such as a miss or a 500, leave it.
   * @param keys lookups of the call
   */
  answered({ keys }: { readonly keys: number }, result: CallAnswer<unknown>): void {
    if (result.kind === 'ok' && Array.isArray(result.value)) {
      for (const item of result.value as readonly BatchItem[]) if (item !== null) this.#count(item, 1);
    } else this.#count(result, Math.min(keys, 'code' in result && result.code === 'bad_body' ? MOST_OF_ONE_UNREADABLE : MOST_OF_ONE));
  }

  #count(result: CallAnswer<unknown>, lookups: number): void {
    if (result.kind === 'ok' || result.kind === 'pending') this.#inARow = 0;
    const isUnfit = result.kind === 'retryable' && result.unfit === true;
    if (result.kind !== 'rejected' && !isUnfit) return;
    // Without a status no request was made: the definition is at fault, and not the answer.
    const isUnsent = result.meta.status === 0 && UNSENT.has(result.code);
    if (!isUnsent && !isUnfit && (result.meta.status === 0 || !UNEXPECTED.has(result.code))) return;
    if (this.#inARow === 0 && !this.#hasWarned) {
      this.#hasWarned = true;
      const what = isUnsent ? 'no request can be made of a lookup as' : 'an answer is not as';
      this.onFirst(`${what} ${this.#file} says: ${result.detail}`);
    }
    if (isUnsent) return;
    this.#inARow += lookups;
    if (this.#inARow < CHANGED_AFTER || this.#hasTold) return;
    this.#hasTold = true;
    this.onChange(
      new ConfigError('answer_changed', `the last ${this.#inARow} lookups were not answered as ${this.#file} says: ${result.detail}`, {
        hint:
          'Compare an answer with the definition: millrace provider check FILE. ' +
          'After a corrected record mapping, stored answers cost nothing.',
      }),
    );
  }
}
