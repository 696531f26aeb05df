/** Notices that a provider has changed the shape of its answers. */
import type { BatchItem } from '../../client/provider-client.ts';
import type { CallAnswer } from '../../pool/call.ts';
import { ConfigError } from '../../util/errors.ts';

/** A run stops after this many lookups in a row whose answers are not as the definition says. */
const CHANGED_AFTER = 100;
/** One answer that is unfit as a whole ends no run, however many lookups it was for: it may be another server's. */
const MOST_OF_ONE = CHANGED_AFTER / 2;

/** Codes of answers that are not as the definition says. */
const UNEXPECTED: ReadonlySet<string> = new Set(['bad_shape', 'bad_mapping']);

export class ShapeWatch {
  readonly #file: string;
  #inARow = 0;
  #hasTold = false;
  /** Ends the run; set once the provider is open. */
  onChange: (error: ConfigError) => void = () => undefined;

  /** @param file the definition, for the message */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Any answer that is as the definition says ends a row. Answers that say nothing of the shape, such as a 500, leave it.
   * @param keys lookups of the call
   */
  answered({ keys }: { readonly keys: number }, result: CallAnswer<unknown>): void {
    if (result.kind === 'ok' && Array.isArray(result.value)) {
      for (const item of result.value as readonly BatchItem[]) if (item !== null) this.#count(item, 1);
    } else this.#count(result, Math.min(keys, MOST_OF_ONE));
  }

  #count(result: CallAnswer<unknown>, lookups: number): void {
    if (result.kind === 'ok' || result.kind === 'miss' || result.kind === 'suppressed') this.#inARow = 0;
    // Without a status no request was made: the definition is at fault, and not the answer.
    if (result.kind !== 'rejected' || result.meta.status === 0 || !UNEXPECTED.has(result.code)) return;
    this.#inARow += lookups;
    if (this.#inARow < CHANGED_AFTER || this.#hasTold) return;
    this.#hasTold = true;
    this.onChange(
      new ConfigError('answer_changed', `the last ${this.#inARow} answers were not as ${this.#file} says: ${result.detail}`, {
        hint:
          'Compare an answer with the definition: millrace provider check FILE. ' +
          'After a corrected record mapping, stored answers cost nothing.',
      }),
    );
  }
}
