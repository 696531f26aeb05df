/** As much of DNS on the wire (RFC 1035 4) as the mail world's server needs: one question in, records out. Pure. */
import { CLASS_IN, HEADER_OCTETS, number16, RCODE, TYPE, writeName } from '../../verification/dns/message.ts';

export interface Question {
  readonly id: number;
  /** Lower case, without the root's dot. */
  readonly name: string;
  readonly type: number;
  /** The question as it came, to be sent back. */
  readonly raw: Uint8Array;
}

/** `soa` and `ns` stand for their kind alone: where they point matters to nobody here. */
export type WorldRecord =
  | { readonly type: 'soa' | 'ns'; readonly ttlS: number }
  | { readonly type: 'a'; readonly address: string; readonly ttlS: number }
  | { readonly type: 'mx'; readonly preference: number; readonly host: string; readonly ttlS: number };

/** Points to the name in the question, which always begins where the header ends. */
const SAME_NAME = 0xc000 | HEADER_OCTETS;

/** Null when it is no query of one question. */
export function readQuestion(message: Buffer): Question | null {
  if (message.length < HEADER_OCTETS + 5 || (message.readUInt16BE(2) & 0x8000) !== 0 || message.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = HEADER_OCTETS;
  for (;;) {
    const size = message[at];
    if (size === undefined || size > 63 || at + 1 + size > message.length) return null;
    at++;
    if (size === 0) break;
    labels.push(message.toString('latin1', at, at + size));
    at += size;
  }
  if (at + 4 > message.length) return null;
  return { id: message.readUInt16BE(0), name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at), raw: message.subarray(HEADER_OCTETS, at + 4) };
}

/** @param authority what says who knows; by default of an answer without records, as servers do it (RFC 2308 2), that they know. */
export function writeAnswer({ id, raw }: Question, rcode: number, records: readonly WorldRecord[], authority: readonly WorldRecord[] = says(rcode, records)): Buffer {
  const header = Buffer.alloc(HEADER_OCTETS);
  header.writeUInt16BE(id, 0);
  // An answer, with authority, and recursion as far as anybody needs it.
  header.writeUInt16BE(0x8580 | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt16BE(authority.length, 8);
  return Buffer.concat([header, raw, ...[...records, ...authority].map(writeRecord)]);
}

function says(rcode: number, records: readonly WorldRecord[]): readonly WorldRecord[] {
  return records.length === 0 && (rcode === RCODE.none || rcode === RCODE.nxdomain) ? [{ type: 'soa', ttlS: 60 }] : [];
}

function writeRecord(record: WorldRecord): Buffer {
  const data = dataOf(record);
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(record.ttlS);
  return Buffer.concat([number16(SAME_NAME), number16(TYPE[record.type]), number16(CLASS_IN), ttl, number16(data.length), data]);
}

function dataOf(record: WorldRecord): Buffer {
  switch (record.type) {
    case 'a':
      return Buffer.from(record.address.split('.').map(Number));
    case 'mx':
      return Buffer.concat([number16(record.preference), writeName(record.host)]);
    case 'ns':
      return writeName('');
    case 'soa':
      // Two names and five numbers (RFC 1035 3.3.13).
      return Buffer.concat([writeName(''), writeName(''), Buffer.alloc(20)]);
    default:
      return record satisfies never;
  }
}
