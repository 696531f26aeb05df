/** Checks an API key. No message here ever prints one. Pure. */
import { ConfigError } from '../util/errors.ts';

/** It travels in a header, and servers cut those off at 8 KiB and more. */
const MAX_KEY_LENGTH = 4096;

/** Visible ASCII: anything else could end the header line, or be read differently by the server. */
const KEY = /^[\x21-\x7e]+$/;

/**
 * Returns the key when it may stand in a header.
 * @throws ConfigError `bad_api_key`, naming `source` but not the key.
 */
export function checkApiKey(key: string, source: string): string {
  const hint = 'A key is one word of printable ASCII. Check for a line break, a space or quotes around it.';
  if (key === '') throw new ConfigError('bad_api_key', `${source} is empty`, { hint });
  if (key.length > MAX_KEY_LENGTH) {
    throw new ConfigError('bad_api_key', `${source} is longer than ${MAX_KEY_LENGTH} characters`, { hint });
  }
  if (!KEY.test(key)) throw new ConfigError('bad_api_key', `${source} holds characters that a key cannot have`, { hint });
  return key;
}
