/** Former profiles and further ids of a person, as keys with a prefix. Pure. */
import { profileKey } from '../../../verification/profile-url.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { textOrNull } from '../../http/values.ts';
import { MAX_ID } from './ids.ts';

const PROFILE = 'profile:';
const ID = 'id:';

/** @param profile the key of the profile */
export function profileAsKey(profile: string): string {
  return PROFILE + profile;
}

export function idAsKey(id: string): string {
  return ID + id;
}

/** The keys of a record, and of the id that a report came with. */
export function keysOfRecord(doc: SparseRecord, id: string | null): string[] {
  const profile = profileKey(textOrNull(doc['linkedin_url']) ?? '');
  return [...(profile === null ? [] : [profileAsKey(profile)]), ...(id === null || id.length > MAX_ID ? [] : [idAsKey(id)])];
}

/** Splits keys into profiles and ids. */
export function profilesAndIds(keys: readonly string[]): { profiles: string[]; ids: string[] } {
  const those = (kind: string): string[] => keys.flatMap((key) => (key.startsWith(kind) ? key.slice(kind.length) : []));
  return { profiles: those(PROFILE), ids: those(ID) };
}
