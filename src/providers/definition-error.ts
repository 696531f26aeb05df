/** The refusal of one key of a definition. */
import { ConfigError } from '../util/errors.ts';

/** Exit 78. `message` names the key, its file and its line. */
export class DefinitionError extends ConfigError {
  /** The key of the definition, such as `operations.enrich.keys[2]`. */
  readonly key: string;

  constructor(key: string, code: string, message: string, hint?: string) {
    super(code, message, hint === undefined ? {} : { hint });
    this.key = key;
  }
}
