/** Notices that a provider has changed the shape of its answers. */
import type { CallAnswer } from '../../pool/call.ts';
import { ConfigError } from '../../util/errors.ts';

/** A run stops after this many answers in a row that are not as the definition says. */
const CHANGED_AFTER = 100;

/** Codes of answers that are not as the definition says. */
const UNEXPECTED: ReadonlySet<string> = new Set(['bad_shape', 'bad_mapping']);

export class ShapeWatch {
  readonly #file: string;
  #inARow = 0;
  /** Ends the run; set once the provider is open. */
  onChange: (error: ConfigError) => void = () => undefined;

  /** @param file the definition, for the message */
  constructor(file: string) {
    this.#file = file;
  }

  /** Any answer that is as the definition says ends a row. Answers that say nothing of the shape, such as a 500, leave it. */
  answered(result: CallAnswer<unknown>): void {
    if (result.kind === 'ok' || result.kind === 'miss' || result.kind === 'suppressed') this.#inARow = 0;
    if (result.kind !== 'rejected' || !UNEXPECTED.has(result.code) || ++this.#inARow !== CHANGED_AFTER) return;
    this.onChange(
      new ConfigError('answer_changed', `the last ${CHANGED_AFTER} answers were not as ${this.#file} says: ${result.detail}`, {
        hint:
          'Compare an answer with the definition: millrace provider check FILE. ' +
          'After a corrected record mapping, stored answers cost nothing.',
      }),
    );
  }
}
