import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { SmtpSession } from '../../../src/verification/smtp/session.ts';
import { addressLiteral, connectTo, smtpSettings } from '../../../src/verification/smtp/settings.ts';
import { inWorld } from '../in-world.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A mail server that accepts addresses with `jane`, and replies `enough` to the third recipient of a transaction. `heard`: commands. */
async function serve(address: string, enough: string | null = null): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write('220 mx.test\r\n');
    let inTransaction = 0;
    socket.on('data', (chunk) => {
      for (const line of chunk
        .toString()
        .split('\r\n')
        .filter((text) => text !== '')) {
        heard.push(line);
        inTransaction = line.startsWith('RCPT') ? inTransaction + 1 : 0;
        if (line === 'QUIT') socket.end('221 goodbye\r\n');
        else if (enough !== null && inTransaction > 2) socket.write(`${enough}\r\n`);
        else socket.write(line.startsWith('RCPT') && !line.includes('jane@') ? '550 5.1.1 unknown\r\n' : '250 fine\r\n');
      }
    });
  });
  servers.push(server);
  server.listen(0, address);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, heard };
}

async function greets(address: string, ehloName: string | null): Promise<string | undefined> {
  const { port, heard } = await serve(address);
  const session = await SmtpSession.open(
    { host: 'mx.test', address },
    smtpSettings({ ehloName, connect: connectTo(port) }),
    new AbortController().signal,
  );
  session.quit();
  return heard[0];
}

/** True when the loopback interface has IPv6. Otherwise the test is reported as skipped, and CI fails. */
function needsIpv6(): boolean {
  if (
    Object.values(networkInterfaces())
      .flat()
      .some((one) => one?.address === '::1')
  )
    return true;
  const message = 'tests over IPv6 need ::1 on the loopback interface (sysctl net.ipv6.conf.lo.disable_ipv6=0)';
  if (process.env['CI'] === 'true') throw new Error(message);
  process.stderr.write(`\nSKIPPED: ${message}\n\n`);
  return false;
}

describe('SmtpSession', () => {
  it('EHLO carries the configured name, or else the local address', async () => {
    expect(await greets('127.0.0.1', 'verifier.test')).toBe('EHLO verifier.test');
    expect(await greets('127.0.0.1', null)).toBe('EHLO [127.0.0.1]');
  });

  it.each(['452 4.5.3 enough', '452 too many recipients', '552 Too many recipients', '552 5.5.3 Too many recipients'])(
    'starts a new transaction when a server replies %s (RFC 5321 4.5.3.1.10)',
    async (enough) => {
      const { port, heard } = await serve('127.0.0.1', enough);
      const session = await SmtpSession.open(
        { host: 'mx.test', address: '127.0.0.1' },
        smtpSettings({ ehloName: null, connect: connectTo(port) }),
        new AbortController().signal,
      );
      const asked = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.jane@acme.test`);
      const answers = new Map<string, number>();
      await session.ask(asked, false, (recipient, { code }) => answers.set(recipient, code));
      session.quit();
      expect([...answers]).toEqual(asked.map((recipient) => [recipient, 250]));
      // After the first such reply no further recipient is asked beyond the limit.
      expect(heard.filter((line) => line.startsWith('RCPT'))).toHaveLength(asked.length + 1);
    },
  );

  it.skipIf(!needsIpv6())('connects over IPv6 when a host has no other address, and names that address in EHLO', async () => {
    const { port, heard } = await serve('::1');
    const { one } = await inWorld(
      { ehloName: null, connect: connectTo(port) },
      {
        resolver: {
          mx: () => Promise.resolve({ kind: 'found', records: [{ preference: 1, host: 'mx.six.test', ttlS: 60 }] }),
          addresses: () => Promise.resolve({ kind: 'found', records: [{ address: '::1', family: 6, ttlS: 60 }] }),
        },
      },
    );
    expect(await one('jane@six.test')).toMatchObject({
      result: 'deliverable',
      reason: 'accepted',
      confidence: 97,
      smtp: { host: 'mx.six.test', code: 250 },
    });
    expect(heard[0]).toBe('EHLO [IPv6:::1]');
  });
});

it.each([
  ['192.0.2.1', '[192.0.2.1]'],
  ['2001:db8::1', '[IPv6:2001:db8::1]'],
  ['::ffff:192.0.2.1', '[192.0.2.1]'],
  ['fe80::1%eth0', '[IPv6:fe80::1]'],
])('the address literal of %s is %s (RFC 5321 4.1.3)', (address, literal) => {
  expect(addressLiteral(address)).toBe(literal);
});
