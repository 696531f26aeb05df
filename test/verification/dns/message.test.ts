import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuestion, writeAnswer, type WorldRecord } from '../../../src/service/mail-world/dns-message.ts';
import { RCODE, readReply, TYPE, writeQuery } from '../../../src/verification/dns/message.ts';

const RECORDS: readonly WorldRecord[] = [
  { type: 'a', address: '192.0.2.1', ttlS: 60 },
  { type: 'mx', preference: 10, host: 'mx.a.test', ttlS: 60 },
  { type: 'ns', ttlS: 60 },
  { type: 'soa', ttlS: 60 },
];

function answer(rcode: number, records: readonly WorldRecord[], authority: readonly WorldRecord[]): Buffer {
  const question = readQuestion(writeQuery(4711, 'Mail.a.test', TYPE.mx));
  if (question === null) throw new Error('no question');
  return writeAnswer(question, rcode, records, authority);
}

describe('readReply', () => {
  it('tells what the answer to a question is like', () => {
    const some = fc.array(fc.constantFrom(...RECORDS), { maxLength: 5 });
    fc.assert(
      fc.property(fc.nat(15), some, some, (rcode, records, authority) => {
        expect(readReply(answer(rcode, records, authority))).toEqual({
          id: 4711, rcode, truncated: false, answers: records.map(({ type }) => TYPE[type]), authority: authority.map(({ type }) => TYPE[type]), question: writeQuery(4711, 'Mail.a.test', TYPE.mx).subarray(12),
        });
      }),
    );
  });

  it('comes to an end with any bytes, cut or changed', () => {
    const whole = answer(RCODE.none, RECORDS, RECORDS);
    for (let length = 0; length < whole.length; length++) expect(readReply(whole.subarray(0, length))).toBeNull();
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 20 }), fc.uint8Array({ maxLength: 100 }), (changes, more) => {
        const bytes = Buffer.concat([whole, more]);
        for (const [at, value] of changes) bytes[at] = value;
        readReply(bytes);
        readReply(Buffer.from(more));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes a question for no answer', () => {
    expect(readReply(writeQuery(1, 'a.test', TYPE.a))).toBeNull();
  });
});
