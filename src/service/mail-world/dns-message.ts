/** As much of DNS on the wire (RFC 1035 4) as the mail world's server needs: one question in, records out. Pure. */

export const RCODE = { none: 0, servfail: 2, nxdomain: 3 } as const;
export const TYPE = { a: 1, mx: 15 } as const;

export interface Question {
  readonly id: number;
  /** Lower case, without the root's dot. */
  readonly name: string;
  readonly type: number;
  /** The question as it came, to be sent back. */
  readonly raw: Uint8Array;
}

export type WorldRecord =
  | { readonly type: 'a'; readonly address: string; readonly ttlS: number }
  | { readonly type: 'mx'; readonly preference: number; readonly host: string; readonly ttlS: number };

const HEADER_OCTETS = 12;
const CLASS_IN = 1;
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

export function writeAnswer({ id, raw }: Question, rcode: number, records: readonly WorldRecord[]): Buffer {
  const header = Buffer.alloc(HEADER_OCTETS);
  header.writeUInt16BE(id, 0);
  // An answer, with authority, and recursion as far as anybody needs it.
  header.writeUInt16BE(0x8580 | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, raw, ...records.map(writeRecord)]);
}

function writeRecord(record: WorldRecord): Buffer {
  const data = record.type === 'a' ? Buffer.from(record.address.split('.').map(Number)) : Buffer.concat([number16(record.preference), writeName(record.host)]);
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(record.ttlS);
  return Buffer.concat([number16(SAME_NAME), number16(TYPE[record.type]), number16(CLASS_IN), ttl, number16(data.length), data]);
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function writeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])), Buffer.from([0])]);
}
