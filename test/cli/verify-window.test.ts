import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { verifyInWindow } from '../../src/cli/verify-window.ts';
import type { GivenKey } from '../../src/job/commands/one-off.ts';
import type { EmailVerification } from '../../src/verification/types.ts';

const verdict = (email: string): EmailVerification => ({ email }) as EmailVerification;

async function* keysOf(texts: readonly (string | null)[]): AsyncGenerator<GivenKey> {
  for (const [index, text] of texts.entries()) yield { place: index + 1, text };
}

it('verifyInWindow writes one result per key in input order, whichever domain is ready first, within its window', async () => {
  const text = fc.oneof(
    { weight: 9, arbitrary: fc.tuple(fc.nat(50), fc.nat(5)).map(([user, domain]) => `u${user}@D${domain}.test`) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), fc.scheduler(), async (texts, size, scheduler) => {
      const written: (string | null)[] = [];
      let underWay = 0;
      let most = 0;
      const verify = async (emails: readonly string[]): Promise<EmailVerification[]> => {
        expect(new Set(emails.map((email) => email.slice(email.indexOf('@')))).size).toBe(1);
        underWay += emails.length;
        most = Math.max(most, underWay);
        await scheduler.schedule(Promise.resolve(), emails.join());
        underWay -= emails.length;
        return emails.map(verdict);
      };
      const done = verifyInWindow(keysOf(texts), {
        size,
        verify,
        write: (key, found) => {
          expect(found?.email ?? null).toBe(key.text);
          written.push(key.text);
        },
        room: () => null,
      });
      await scheduler.waitFor(done);
      expect(written).toEqual(texts);
      expect(most).toBeLessThanOrEqual(size);
    }),
    { numRuns: 200 },
  );
});

it('verifyInWindow asks about the addresses of one domain together, wherever in the window they are', async () => {
  const asked: string[][] = [];
  const texts = Array.from({ length: 100 }, (_, n) => `u${n}@d${n % 4}.test`);
  await verifyInWindow(keysOf(texts), {
    size: 100,
    verify: (emails) => (asked.push([...emails]), Promise.resolve(emails.map(verdict))),
    write: () => undefined,
    room: () => null,
  });
  expect(asked.map((group) => group.length)).toEqual([25, 25, 25, 25]);
});

it('verifyInWindow does not delay other domains for a silent one', async () => {
  const silent = Promise.withResolvers<void>();
  const asked: string[] = [];
  const done = verifyInWindow(keysOf(['a@silent.test', ...Array.from({ length: 20 }, (_, n) => `a@d${n}.test`)]), {
    size: 21,
    verify: async (emails) => {
      asked.push(...emails);
      if (emails[0] === 'a@silent.test') await silent.promise;
      else if (asked.length === 21) silent.resolve();
      return emails.map(verdict);
    },
    write: () => undefined,
    room: () => null,
  });
  await done;
  expect(asked.length).toBe(21);
});

it('verifyInWindow throws the first failure once no work is in flight', async () => {
  let underWay = 0;
  const verify = async (emails: readonly string[]): Promise<EmailVerification[]> => {
    underWay++;
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    if (emails[0] === 'a@bad.test') throw new Error('no');
    return emails.map(verdict);
  };
  await expect(
    verifyInWindow(keysOf(['a@bad.test', 'a@good.test', 'a@other.test']), { size: 2, verify, write: () => undefined, room: () => null }),
  ).rejects.toThrow('no');
  expect(underWay).toBe(0);
});
