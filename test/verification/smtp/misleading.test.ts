import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import * as fc from '../../support/fast-check.ts';
import { afterEach, expect, it } from 'vitest';
import type { Resolver } from '../../../src/verification/dns/resolver.ts';
import { connectTo } from '../../../src/verification/smtp/settings.ts';
import { inWorld } from '../in-world.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(() => resolve()));
});

/** The server's true reply for a mailbox, by its number modulo the length, and the reasons that this reply may lead to. */
const TRUTHS = [
  { reply: '250 2.1.5 fine', reasons: ['accepted'] },
  { reply: '550 5.1.1 no such user', reasons: ['no_mailbox'] },
  { reply: '552-5.2.2 mailbox\r\n552 5.2.2 full', reasons: ['mailbox_full'] },
  { reply: '450 4.2.0 later', reasons: ['greylisted'] },
  { reply: '554 5.7.1 not from you', reasons: ['policy_rejected'] },
] as const;
const NOT_KNOWN = ['pending', 'no_answer', 'greylisted', 'server_refused'];
const NOBODY = { hosts: {}, domains: {} };

/** Faults that replace an answer. */
const TROUBLES = ['drop', 'reset', '421 4.7.0 enough', '452 4.5.3 too many recipients', '451 4.3.0 local error'] as const;

interface Script {
  readonly pipelining: boolean;
  /** The fault of each command over all conversations, repeated from the start; null for none. */
  readonly troubles: readonly ((typeof TROUBLES)[number] | null)[];
  /** The server writes its replies in pieces of this many bytes. */
  readonly piece: number;
}

const SCRIPT: fc.Arbitrary<Script> = fc.record({
  pipelining: fc.boolean(),
  troubles: fc.array(fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...TROUBLES) }), {
    minLength: 20,
    maxLength: 80,
  }),
  piece: fc.integer({ min: 1, max: 200 }),
});

async function serve({ pipelining, troubles, piece }: Script): Promise<number> {
  let commands = 0;
  const say = (socket: Socket, text: string): void => {
    const bytes = Buffer.from(`${text}\r\n`);
    for (let from = 0; from < bytes.length && socket.writable; from += piece) socket.write(bytes.subarray(from, from + piece));
  };
  const server = createServer((socket) => {
    let rest = '';
    socket.on('error', () => socket.destroy());
    socket.setNoDelay(true);
    say(socket, '220 mx.test');
    socket.on('data', (chunk) => {
      const lines = `${rest}${chunk.toString()}`.split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!socket.writable) return;
        const number = /^RCPT TO:<user(\d+)@/.exec(line)?.[1];
        const trouble = line.startsWith('RCPT') || line.startsWith('MAIL') ? (troubles[commands++ % troubles.length] ?? null) : null;
        if (trouble === 'drop') socket.end();
        else if (trouble === 'reset') socket.resetAndDestroy();
        else if (trouble?.startsWith('421') === true) socket.end(`${trouble}\r\n`);
        else if (trouble !== null) say(socket, trouble);
        else if (line.startsWith('EHLO')) say(socket, pipelining ? '250-mx.test\r\n250 PIPELINING' : '250 mx.test');
        else if (number !== undefined) say(socket, TRUTHS[Number(number) % TRUTHS.length]?.reply ?? '');
        else say(socket, line.startsWith('RCPT') ? '550 5.1.1 no such user' : '250 fine');
      }
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const resolver: Resolver = {
  mx: () => Promise.resolve({ kind: 'found', records: [{ preference: 1, host: 'mx.test', ttlS: 60 }] }),
  addresses: () => Promise.resolve({ kind: 'found', records: [{ address: '127.0.0.1', family: 4, ttlS: 60 }] }),
};

it('whatever fails, each mailbox gets its own answer or none, never the answer of another mailbox', async () => {
  await fc.assert(
    fc.asyncProperty(SCRIPT, async (script) => {
      const { verify } = await inWorld({ connect: connectTo(await serve(script)), commandMs: 2_000 }, { resolver }, NOBODY);
      const found = await verify(
        Array.from({ length: 60 }, (_, n) => `user${n}@a.test`),
        { timeoutMs: 400 },
      );
      for (const [n, { reason, retry_at: retryAt, result }] of found.entries()) {
        expect([...(TRUTHS[n % TRUTHS.length]?.reasons ?? []), ...NOT_KNOWN]).toContain(reason);
        if (result === 'undeliverable') expect(n % TRUTHS.length).toBe(1);
        if (reason === 'pending' || reason === 'greylisted') expect(retryAt).not.toBeNull();
      }
    }),
    { numRuns: 8 },
  );
});

/** A server that accepts `userN` and refuses other recipients, but refuses every recipient once it was asked about `enough`. */
async function serveUntilLimit(limits: { enough: number }): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write('220 mx.test\r\n');
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
        const local = /^RCPT TO:<([^@]*)@/.exec(line)?.[1];
        if (local !== undefined) asked.push(local);
        const isRefused = local !== undefined && (!/^user\d+$/.test(local) || asked.length > limits.enough);
        socket.write(isRefused ? '550 5.4.1 Recipient address rejected: Access denied.\r\n' : '250 fine\r\n');
      }
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, asked };
}

const users = (count: number): string[] => Array.from({ length: count }, (_, n) => `user${n}@one.test`);

it.each([1, 3, 5, 30, 60])(
  'a server that refuses every recipient after the first %i makes no existing mailbox undeliverable',
  async (enough) => {
    const { port } = await serveUntilLimit({ enough });
    const { verify } = await inWorld({ connect: connectTo(port) }, { resolver }, NOBODY);
    const found = await verify(users(100));
    expect(found.filter(({ result }) => result === 'undeliverable')).toEqual([]);
  },
);

it('a refusal that meant no_mailbox earlier means nothing once the server refuses every recipient', async () => {
  const limits = { enough: Infinity };
  const { port } = await serveUntilLimit(limits);
  const { verify, one } = await inWorld({ connect: connectTo(port) }, { resolver }, NOBODY);
  expect((await verify(['user1@one.test', 'gone@one.test'])).map(({ reason }) => reason)).toEqual(['accepted', 'no_mailbox']);
  // An address that was accepted earlier is asked about again for comparison.
  expect(await one('lost@one.test')).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox' });
  limits.enough = 0;
  expect((await verify([...users(3), 'lost@one.test'])).map(({ result, reason }) => [result, reason])).toEqual(
    Array.from({ length: 4 }, () => ['unknown', 'rejected']),
  );
});
