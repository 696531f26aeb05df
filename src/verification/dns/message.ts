/** As much of DNS on the wire (RFC 1035 4) as it takes to ask one question and to see what kind of answer came. Pure. */

export const RCODE = { none: 0, servfail: 2, nxdomain: 3, notauth: 9 } as const;
export const TYPE = { a: 1, ns: 2, soa: 6, mx: 15, aaaa: 28, opt: 41 } as const;

export const HEADER_OCTETS = 12;
export const CLASS_IN = 1;

const RESPONSE = 0x8000;
const TRUNCATED = 0x0200;
const RECURSE = 0x0100;
/** The two highest bits of what stands for a label: it points to where the name goes on (RFC 1035 4.1.4). */
const POINTER = 0xc0;

/** What a reply is like; its records are known by their types alone. */
export interface ReplyShape {
  readonly id: number;
  /** The question that it answers, as bytes. */
  readonly question: Buffer;
  /** With the upper bits that an OPT record brings (RFC 6891 6.1.3). */
  readonly rcode: number;
  readonly truncated: boolean;
  readonly answers: readonly number[];
  readonly authority: readonly number[];
}

/** @param name ASCII, without the root's dot. */
export function writeQuery(id: number, name: string, type: number): Buffer {
  const header = Buffer.alloc(HEADER_OCTETS);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(RECURSE, 2);
  header.writeUInt16BE(1, 4);
  return Buffer.concat([header, writeName(name), number16(type), number16(CLASS_IN)]);
}

/** Null when it is no reply to one question. */
export function readReply(message: Buffer): ReplyShape | null {
  if (message.length < HEADER_OCTETS || message.readUInt16BE(4) !== 1) return null;
  const flags = message.readUInt16BE(2);
  const afterName = skipName(message, HEADER_OCTETS);
  if ((flags & RESPONSE) === 0 || afterName === null || afterName + 4 > message.length) return null;
  let at = afterName + 4;
  let rcode = flags & 0x0f;
  const sections: number[][] = [];
  for (const count of [message.readUInt16BE(6), message.readUInt16BE(8), message.readUInt16BE(10)]) {
    const types: number[] = [];
    for (let n = 0; n < count; n++) {
      const fixed = skipName(message, at);
      if (fixed === null || fixed + 10 > message.length) return null;
      const type = message.readUInt16BE(fixed);
      if (type === TYPE.opt) rcode |= message.readUInt8(fixed + 4) << 4;
      types.push(type);
      at = fixed + 10 + message.readUInt16BE(fixed + 8);
      if (at > message.length) return null;
    }
    sections.push(types);
  }
  const [answers = [], authority = []] = sections;
  return { id: message.readUInt16BE(0), question: message.subarray(HEADER_OCTETS, afterName + 4), rcode, truncated: (flags & TRUNCATED) !== 0, answers, authority };
}

/** Where what follows a name begins; null: it has no end. */
function skipName(message: Buffer, from: number): number | null {
  for (let at = from; at < message.length; ) {
    const size = message[at] ?? 0;
    if (size >= POINTER) return at + 2;
    if (size === 0) return at + 1;
    at += 1 + size;
  }
  return null;
}

export function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function writeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])), Buffer.from([0])]);
}
