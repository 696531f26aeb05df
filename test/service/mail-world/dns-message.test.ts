import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readQuestion, writeAnswer } from '../../../src/service/mail-world/dns-message.ts';

it('comes to a question or none with any bytes, and answers what it was asked', () => {
  const header = fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.concat([Buffer.from([bytes[0] ?? 0, bytes[1] ?? 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])]));
  const message = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.tuple(header, fc.uint8Array({ maxLength: 60 })).map((parts) => Buffer.concat(parts)));
  fc.assert(
    fc.property(message, (bytes) => {
      const question = readQuestion(Buffer.from(bytes));
      if (question === null) return;
      const answer = writeAnswer(question, 0, [{ type: 'mx', preference: 10, host: 'mx.acme.example', ttlS: 60 }]);
      expect(answer.readUInt16BE(0)).toBe(question.id);
      expect(answer.subarray(12, 12 + question.raw.length).equals(Buffer.from(question.raw))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
