/** Reads a DNS answer to one question: its code, its records with their TTL, and which record confirms an absence. Pure. */
import type { Answer, DecodedPacket } from 'dns-packet';
import { plainName, type Question } from './exchange.ts';

/** A record as the codec decodes it. */
type ReadRecord = Answer;

/**
 * `found`: records of the type that was asked for. `no_name`: NXDOMAIN. `no_data`: the name exists without such records.
 * `failed`: any other code; `detail` names it as the platform's resolver would.
 */
export type Reading =
  | { readonly kind: 'found'; readonly records: readonly ReadRecord[] }
  | { readonly kind: 'no_name' | 'no_data'; readonly proof: AbsenceProof }
  | { readonly kind: 'failed'; readonly detail: string };

/** RFC 2308 2: a SOA record confirms an absence, and its TTL says for how long. NS records without one refer to other servers. */
type AbsenceProof = { readonly by: 'soa'; readonly ttlS: number } | { readonly by: 'referral' | 'nothing' };

/** RFC 1035 4.1.1. */
const NOERROR = 0;
const NXDOMAIN = 3;
const FAILURES: Readonly<Record<number, string>> = { 1: 'EFORMERR', 2: 'ESERVFAIL', 4: 'ENOTIMP', 5: 'EREFUSED' };
/** RFC 6891 6.1.3: an OPT record brings the upper bits of the code. */
const CODE_BITS = 4;

export function readDnsAnswer(answer: DecodedPacket, question: Question): Reading {
  const code = responseCode(answer);
  if (code === NXDOMAIN) return { kind: 'no_name', proof: proofOf(answer) };
  if (code !== NOERROR) return { kind: 'failed', detail: FAILURES[code] ?? `DNS error code ${code}` };
  const records = recordsOf(answer.answers ?? [], question);
  return records.length > 0 ? { kind: 'found', records } : { kind: 'no_data', proof: proofOf(answer) };
}

/** Whether an answer shows that its server knows the zone: it holds a SOA record. */
export function knowsZone(answer: DecodedPacket): boolean {
  return [...(answer.answers ?? []), ...(answer.authorities ?? [])].some(({ type }) => type === 'SOA');
}

/** The response code, with the upper bits of an OPT record. */
export function responseCode({ flags = 0, additionals = [] }: DecodedPacket): number {
  const opt = additionals.find(({ type }) => type === 'OPT');
  return (flags & 0x0f) | ((opt !== undefined && 'extendedRcode' in opt ? opt.extendedRcode : 0) << CODE_BITS);
}

/** The records of the type for the name, or for the name that its aliases lead to (RFC 1034 3.6.2). */
function recordsOf(answers: readonly Answer[], { name, type }: Question): readonly ReadRecord[] {
  const names = new Set([plainName(name)]);
  for (const answer of answers) if (answer.type === 'CNAME' && names.has(plainName(answer.name))) names.add(plainName(answer.data));
  return answers.filter((answer) => answer.type === type && names.has(plainName(answer.name)));
}

function proofOf({ authorities = [] }: DecodedPacket): AbsenceProof {
  const soa = authorities.find(({ type }) => type === 'SOA');
  // RFC 2308 5: the smaller of the record's own time to live and its minimum field.
  if (soa?.type === 'SOA') return { by: 'soa', ttlS: Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0) };
  return { by: authorities.some(({ type }) => type === 'NS') ? 'referral' : 'nothing' };
}
