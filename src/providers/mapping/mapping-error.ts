/** The failure of a mapping at one input. Pure. */

/**
 * `threw`: the expression itself failed. `too_long`: too many steps or too much time. `too_deep`: calls or values nested too deep.
 * `too_large`: a text, a list or the result is too large. `bad_result`: a result that JSON cannot hold, such as a function.
 */
export type MappingFailure = 'threw' | 'too_long' | 'too_deep' | 'too_large' | 'bad_result';

const IN_WORDS: Readonly<Record<MappingFailure, string>> = {
  threw: 'failed',
  too_long: 'ran for too long',
  too_deep: 'went too deep',
  too_large: 'grew too large',
  bad_result: 'has a result that is no value',
};

/** It concerns one input, such as one answer. `message` names the key of the definition, the position in its expression and the reason. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
  readonly key: string;
  readonly failure: MappingFailure;
  /** The reason alone, one sentence without its full stop. */
  readonly reason: string;

  /** @param position within the expression, in characters from 1; null where it is unknown */
  constructor(key: string, failure: MappingFailure, reason: string, position: number | null = null, cause?: unknown) {
    const where = position === null ? '' : ` at character ${position} of its expression`;
    super(`The mapping ${key} ${IN_WORDS[failure]}${where}: ${reason}`, cause === undefined ? undefined : { cause });
    this.key = key;
    this.failure = failure;
    this.reason = reason;
  }
}
