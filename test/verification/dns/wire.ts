/** Decodes DNS questions and encodes any answer, also answers that no real server would give. */
import {
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  type Answer,
  type RecordType,
} from 'dns-packet';

export const CODE = { none: 0, servfail: 2, nxdomain: 3, notauth: 9 } as const;

export interface Asked {
  readonly id: number;
  /** Lower case, without the root's dot. */
  readonly name: string;
  readonly type: RecordType;
}

export interface AnswerParts {
  readonly answers?: readonly Answer[];
  readonly authorities?: readonly Answer[];
  readonly isTruncated?: boolean;
}

/** Null unless the message is a query with exactly one question. */
export function readQuestion(message: Buffer): Asked | null {
  const { id = 0, flag_qr: isReply, questions = [] } = decode(message);
  const [question] = questions;
  return isReply || question === undefined ? null : { id, name: question.name.toLowerCase(), type: question.type };
}

/** @param code up to 4,095; its upper bits go into an OPT record (RFC 6891 6.1.3) */
export function writeAnswer(
  { id, name, type }: Asked,
  code: number,
  { answers = [], authorities = [], isTruncated = false }: AnswerParts = {},
): Buffer {
  const additionals: Answer[] =
    code < 16
      ? []
      : [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: 1_232,
            extendedRcode: code >> 4,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ];
  const flags = AUTHORITATIVE_ANSWER | RECURSION_DESIRED | RECURSION_AVAILABLE | (isTruncated ? TRUNCATED_RESPONSE : 0) | (code & 0x0f);
  return encode({
    type: 'response',
    id,
    flags,
    questions: [{ type, name, class: 'IN' }],
    answers: [...answers],
    authorities: [...authorities],
    additionals,
  });
}

export const soa = (name = 'test', minimum = 60): Answer => ({ type: 'SOA', name, ttl: 60, data: { mname: name, rname: name, minimum } });
export const mx = (name: string, exchange: string, preference = 10): Answer => ({
  type: 'MX',
  name,
  ttl: 60,
  data: { preference, exchange },
});
export const a = (name: string, address: string): Answer => ({ type: 'A', name, ttl: 60, data: address });
