/** What records are named by. Pure. */
import { hash } from 'node:crypto';

/** Characters of an id that is kept. */
export const MAX_ID = 128;

/** What a record is to be named by, where that is free: the id that it came with, else one that follows from its identity. */
export function wantedId(given: string | null, derived: () => string): string {
  return given !== null && given.length <= MAX_ID ? given : derived();
}

/** The id in the place of a `derived` one that is taken. */
export function furtherId(derived: string, given: string | null): string {
  return `${derived}_${digest(`${derived}\n${given ?? undefined}`)}`;
}

/** The id in the place of one that somebody of another name has. @param nameKey as it is compared */
export function namedId(id: string, nameKey: string): string {
  return `pe_${digest(`id:${id}\n${nameKey}`)}`;
}

/** The id of somebody whose other ones are taken: thousands may share an address or an id, and each is to have one without trying those of all others. */
export function ownId({ newId, id, profile, nameKey }: { readonly newId: string; readonly id: string | null; readonly profile: string | null; readonly nameKey: string }): string {
  return `pe_${digest(JSON.stringify([newId, id, profile, nameKey]))}`;
}

/** Enough of a SHA-256 to tell any two identities apart. */
export function digest(identity: string): string {
  return hash('sha256', identity, 'buffer').subarray(0, 12).toString('base64url');
}
