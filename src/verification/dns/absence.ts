/**
 * Confirms that a name or its records are absent. Filters deny names that exist, and local resolvers omit the SOA record that would prove
 * the absence, so the same server is asked about the zone.
 */
import type { DecodedPacket } from 'dns-packet';
import { registrableDomain, suffixOf } from '../registrable.ts';
import type { NoAnswer } from './exchange.ts';
import { responseCode, knowsZone, type Reading } from './parse-answer.ts';

/** Bounds the number of parent zones that are asked for. */
const MAX_PARENTS = 10;
/**
 * A top-level domain that every server knows. A filter may know the root, because its wildcard (`*` in a response policy zone) excludes it.
 */
const KNOWN_TO_ALL = 'com';

/** `absent`: confirmed. `silent`: no answer in time. Otherwise `why` the server's answer does not count. */
type Absence = 'absent' | 'silent' | { readonly why: string };

/** Asks the same server for a zone's SOA record. */
type AskZone = (zone: string) => Promise<DecodedPacket | NoAnswer>;

export async function confirmAbsence(
  { kind, proof }: Extract<Reading, { kind: 'no_name' | 'no_data' }>,
  name: string,
  askZone: AskZone,
): Promise<Absence> {
  if (proof.by === 'soa') return 'absent';
  if (kind === 'no_data' && proof.by === 'referral') return { why: 'the DNS server refers to others' };
  const knows = kind === 'no_name' ? await knowsAny(zonesAbove(name), askZone, true) : await knowsAny(zonesOf(name), askZone, false);
  if (knows === 'yes') return 'absent';
  if (knows === 'silent') return 'silent';
  return {
    why:
      kind === 'no_name'
        ? 'the DNS server denies the name, and knows no zone above it'
        : 'an empty answer from a DNS server that does not know the zone',
  };
}

/** Whether the server knows one of the zones. @param mayDeny a zone that the server denies does not end the search */
async function knowsAny(zones: readonly string[], askZone: AskZone, mayDeny: boolean): Promise<'yes' | 'no' | 'silent'> {
  for (const zone of zones) {
    const answer = await askZone(zone);
    if ('failure' in answer) return 'silent';
    const code = responseCode(answer);
    if (code !== 0 && !(mayDeny && code === 3)) return 'no';
    if (knowsZone(answer)) return 'yes';
  }
  return 'no';
}

/** The name and its parents, nearest first. */
function upwards(name: string): readonly string[] {
  const labels = name.split('.');
  return labels.map((_, n) => labels.slice(n).join('.'));
}

/** The name and its parents up to the registered domain. */
function zonesOf(name: string): readonly string[] {
  const top = registrableDomain(name);
  return upwards(name)
    .filter((zone) => zone.length >= top.length)
    .slice(0, MAX_PARENTS);
}

/**
 * The parents of a name, nearest first. A mistyped top-level domain has no parent but the root, so there the server must know `com`.
 * A server that denies an existing top-level domain is a filter.
 */
function zonesAbove(name: string): readonly string[] {
  return [...upwards(name).slice(1).slice(-MAX_PARENTS), ...(suffixOf(name) === null ? [KNOWN_TO_ALL] : [])];
}
