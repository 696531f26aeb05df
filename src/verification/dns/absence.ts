/**
 * Whether a server that denies a name, or has no records of it, can know that. Networks that let only some names through deny all others, and
 * local resolvers leave the SOA record out, so the server is asked about the zone.
 */
import type { DecodedPacket } from 'dns-packet';
import { registrableDomain, suffixOf } from '../registrable.ts';
import type { NoAnswer } from './exchange.ts';
import { codeOf, knowsZone, type Reading } from './reading.ts';

/** DNS has no longer names; this bounds how far up is looked. */
const MAX_PARENTS = 10;
/** A top-level domain that every server knows. The root would not do: a filter's wildcard (`*` in a response policy zone) does not cover it. */
const KNOWN_TO_ALL = 'com';

/** `absent`: it is as the server said. `silent`: it did not answer in time. Anything else is why its word does not count. */
export type Absence = 'absent' | 'silent' | { readonly why: string };

/** Asks the same server for a zone's SOA record. */
export type AskZone = (zone: string) => Promise<DecodedPacket | NoAnswer>;

export async function confirmAbsence({ kind, vouched }: Extract<Reading, { kind: 'no_name' | 'no_data' }>, name: string, askZone: AskZone): Promise<Absence> {
  if (vouched.by === 'soa') return 'absent';
  if (kind === 'no_data' && vouched.by === 'referral') return { why: 'the DNS server refers to others' };
  const knows = kind === 'no_name' ? await knowsAny(zonesAbove(name), askZone, true) : await knowsAny(zonesOf(name), askZone, false);
  if (knows === 'yes') return 'absent';
  if (knows === 'silent') return 'silent';
  return { why: kind === 'no_name' ? 'the DNS server denies the name, and knows no zone above it' : 'an empty answer from a DNS server that does not know the zone' };
}

/** @param mayDeny whether the server may deny one of the zones and know the next */
async function knowsAny(zones: readonly string[], askZone: AskZone, mayDeny: boolean): Promise<'yes' | 'no' | 'silent'> {
  for (const zone of zones) {
    const answer = await askZone(zone);
    if ('failure' in answer) return 'silent';
    const code = codeOf(answer);
    if (code !== 0 && !(mayDeny && code === 3)) return 'no';
    if (knowsZone(answer)) return 'yes';
  }
  return 'no';
}

/** A name and all that is above it, the nearest first. */
function upwards(name: string): readonly string[] {
  const labels = name.split('.');
  return labels.map((_, n) => labels.slice(n).join('.'));
}

/** Up to what somebody registered. */
function zonesOf(name: string): readonly string[] {
  const top = registrableDomain(name);
  return upwards(name).filter((zone) => zone.length >= top.length).slice(0, MAX_PARENTS);
}

/**
 * The zones above a name, the nearest first. A mistyped top-level domain has none but the root's: there, a server that knows another one is believed.
 * A server that denies a top-level domain that exists is a filter.
 */
function zonesAbove(name: string): readonly string[] {
  return [...upwards(name).slice(1).slice(-MAX_PARENTS), ...(suffixOf(name) === null ? [KNOWN_TO_ALL] : [])];
}
