/** Ids of records. Pure. */
import { hash } from 'node:crypto';

/** Characters of an id that is stored. */
export const MAX_ID = 128;

/** The preferred id of a new record: the reported one, else one derived from its identity. */
export function preferredId(given: string | null, derived: () => string): string {
  return given !== null && given.length <= MAX_ID ? given : derived();
}

/** The id if the `derived` one is taken. */
export function fallbackId(derived: string, given: string | null): string {
  return `${derived}_${digest(`${derived}\n${given ?? undefined}`)}`;
}

/** The id if a person of another name has the reported one. @param nameKey normalised */
export function namesakeId(id: string, nameKey: string): string {
  return `pe_${digest(`id:${id}\n${nameKey}`)}`;
}

/**
 * The id if all others are taken. Thousands may share an address or an id, so it is a digest of all keys and needs no trial of further ids.
 */
export function distinctId({
  newId,
  id,
  profile,
  nameKey,
}: {
  readonly newId: string;
  readonly id: string | null;
  readonly profile: string | null;
  readonly nameKey: string;
}): string {
  return `pe_${digest(JSON.stringify([newId, id, profile, nameKey]))}`;
}

/** 96 bits of SHA-256, enough to tell identities apart. */
export function digest(identity: string): string {
  return hash('sha256', identity, 'buffer').subarray(0, 12).toString('base64url');
}
