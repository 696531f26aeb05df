/** A checksum in the last key of a JSON object, so that a flipped bit cannot become a position or a count. Pure. */
import { hash } from 'node:crypto';

const SEAL = /,"sha256":"([0-9a-f]{64})"\}\s*$/;

/** @param json an object on one line */
export function seal(json: string): string {
  return `${json.slice(0, -1)},"sha256":"${hash('sha256', json)}"}`;
}

/** The JSON without its seal. Null when the checksum differs. A text without a seal is returned unchanged. */
export function unseal(text: string): string | null {
  const found = SEAL.exec(text);
  if (found === null) return text;
  const json = `${text.slice(0, found.index)}}`;
  return hash('sha256', json) === found[1] ? json : null;
}
