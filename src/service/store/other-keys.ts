/** Profiles that were somebody's, and ids that are theirs beside the one by which they are named: what they are known by, too. Pure. */
import { profileKey } from '../../verification/profile-url.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { MAX_ID } from './ids.ts';

const PROFILE = 'profile:';
const ID = 'id:';

/** @param profile a profile's key */
export function profileAsKey(profile: string): string {
  return PROFILE + profile;
}

export function idAsKey(id: string): string {
  return ID + id;
}

/** By what of these a record is known, and by an id that a row came with. */
export function keysOfRecord(doc: SparseRecord, id: string | null): string[] {
  const profile = profileKey(textOrNull(doc['linkedin_url']) ?? '');
  return [...(profile === null ? [] : [profileAsKey(profile)]), ...(id === null || id.length > MAX_ID ? [] : [idAsKey(id)])];
}

/** The profiles and ids among keys. */
export function profilesAndIds(keys: readonly string[]): { profiles: string[]; ids: string[] } {
  const those = (kind: string): string[] => keys.flatMap((key) => (key.startsWith(kind) ? key.slice(kind.length) : []));
  return { profiles: those(PROFILE), ids: those(ID) };
}
