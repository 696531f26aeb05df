import type { Answer } from 'dns-packet';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket as TcpSocket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Semaphore } from '../../../src/verification/dns/semaphore.ts';
import { MailRoutes } from '../../../src/verification/dns/mail-routes.ts';
import { DNS_QUEUES, dnsResolver } from '../../../src/verification/dns/resolver.ts';
import { a, CODE, mx, readQuestion, soa, writeAnswer, type Asked } from './wire.ts';

/** The timeout of the tests: long enough for an answer on a busy machine. */
const TIMEOUT_MS = 1_500;
const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets.splice(0)) await new Promise<void>((resolve) => socket.close(() => resolve()));
});

/** A DNS server on loopback. `answer` returns null to stay silent. */
async function serve(
  answer: (question: Asked) => Buffer | null,
  onQuestion: (question: Asked, from: RemoteInfo) => void = () => undefined,
  port = 0,
): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = readQuestion(message);
    if (question === null) return;
    onQuestion(question, from);
    const reply = answer(question);
    if (reply !== null) socket.send(reply, from.port, from.address);
  });
  sockets.push(socket);
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

/** A server that truncates every UDP answer. `answer` handles the connection to the same port over TCP. */
async function serveTcp(answer: (socket: TcpSocket, query: Buffer) => void): Promise<string> {
  for (;;) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (query) => answer(socket, query));
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      return await serve(
        (question) => writeAnswer(question, CODE.none, { isTruncated: true }),
        () => undefined,
        (server.address() as AddressInfo).port,
      );
    } catch {
      // Another process uses the UDP port of that number.
      sockets.pop();
    }
  }
}

const withMx = (question: Asked): Buffer => writeAnswer(question, CODE.none, { answers: [mx(question.name, 'mx.a.test')] });

describe('dnsResolver', () => {
  it('answers 3,000 concurrent questions, more than the buffers of UDP hold', async () => {
    const server = await serve(withMx);
    const resolver = dnsResolver([server]);
    const found = await Promise.all(Array.from({ length: 3_000 }, (_, n) => resolver.mx(`d${n}.test`)));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['found']));
  });

  it('asks a question that timed out once more in the slow queue, and fails when that times out', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) =>
        question.name === 'mute.test' || (question.name.startsWith('late') && heard.get(question.name) === 1) ? null : withMx(question),
      ({ name }) => void heard.set(name, (heard.get(name) ?? 0) + 1),
    );
    const resolver = dnsResolver([server], { fast: { atOnce: 2, timeoutMs: TIMEOUT_MS }, slow: { atOnce: 1, timeoutMs: TIMEOUT_MS } });
    const names = ['mute.test', 'late1.test', 'late2.test', 'good1.test', 'good2.test'];
    const found = await Promise.all(names.map((name) => resolver.mx(name)));
    expect(found.map((lookup) => (lookup.kind === 'failed' ? lookup.detail : lookup.kind))).toEqual([
      'ETIMEOUT',
      'found',
      'found',
      'found',
      'found',
    ]);
    expect(names.map((name) => heard.get(name))).toEqual([2, 2, 2, 1, 1]);
  });

  it('a failure that the server reports is not asked again', async () => {
    let asked = 0;
    const server = await serve(
      (question) => writeAnswer(question, CODE.servfail),
      () => asked++,
    );
    expect(await dnsResolver([server]).mx('broken.test')).toEqual({ kind: 'failed', detail: 'ESERVFAIL' });
    expect(asked).toBe(1);
  });
});

/** An answer that makes the name an alias of `target`, which has the records. */
function alias(question: Asked, target: string, records: readonly Answer[]): Buffer {
  return writeAnswer(question, CODE.none, {
    answers: [{ type: 'CNAME', name: question.name, ttl: 60, data: target }, ...records],
    authorities: records.length === 0 ? [soa(target)] : [],
  });
}

describe('aliases', () => {
  it('a CNAME of a domain leads to the mail hosts of its target, and a CNAME of a mail host to its addresses', async () => {
    const server = await serve((question) => {
      const { name, type } = question;
      if (type === 'MX' && name === 'alias.test') return alias(question, 'real.test', [mx('real.test', 'mx.alias.test')]);
      if (name === 'mx.alias.test') return alias(question, 'mx.real.test', type === 'A' ? [a('mx.real.test', '8.8.8.8')] : []);
      if (name === 'no-mx.test') return alias(question, 'real.test', type === 'A' ? [a('real.test', '8.8.8.8')] : []);
      return writeAnswer(question, CODE.none, { authorities: [soa()] });
    });
    const routes = new MailRoutes({ resolver: dnsResolver([server]), clock: () => 0, privateAddresses: false });
    const addresses = [{ address: '8.8.8.8' }];
    expect(await routes.find('alias.test')).toMatchObject({
      kind: 'hosts',
      implicit: false,
      partial: false,
      hosts: [{ name: 'mx.alias.test', addresses }],
    });
    expect(await routes.find('no-mx.test')).toMatchObject({ kind: 'hosts', implicit: true, hosts: [{ name: 'no-mx.test', addresses }] });
  });
});

describe('answers of DNS servers', () => {
  const CODES = Array.from({ length: 24 }, (_, rcode) => rcode);
  /** `rN.test` fails with code N; `hN.test` has the mail host `rN.test`; `aN.test` has no MX, and its addresses fail with code N. */
  const zone = (question: Asked): Buffer => {
    const [, kind, code] = /^([rha])(\d+)\.test$/.exec(question.name) ?? [];
    if (kind === 'h' && question.type === 'MX') return writeAnswer(question, CODE.none, { answers: [mx(question.name, `r${code}.test`)] });
    const rcode = kind === 'a' && question.type === 'MX' ? CODE.none : Number(code);
    return writeAnswer(question, rcode, rcode === CODE.none || rcode === CODE.nxdomain ? { authorities: [soa()] } : {});
  };

  it.each(['r', 'h', 'a'])('no failure code counts as an absence (%s)', async (kind) => {
    const resolver = dnsResolver([await serve(zone)]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: true });
    const found = await Promise.all(CODES.map((rcode) => routes.find(`${kind}${rcode}.test`)));
    const absent = kind === 'r' ? { 0: 'no_mail_host', 3: 'no_domain' } : { 0: 'no_mail_host', 3: 'no_mail_host' };
    expect(found.map((route) => route.kind)).toEqual(CODES.map((rcode) => absent[rcode as 0 | 3] ?? 'failed'));
  });

  it('a failure names its code', async () => {
    const resolver = dnsResolver([await serve(zone)]);
    expect(await resolver.mx('r9.test')).toEqual({ kind: 'failed', detail: 'DNS error code 9' });
    expect(await resolver.addresses('r23.test')).toEqual({ kind: 'failed', detail: 'DNS error code 23' });
  });

  it('a referral, or an empty answer of a server that does not know the zone, is a failure', async () => {
    const lame = dnsResolver([
      await serve((question) =>
        writeAnswer(question, CODE.none, { authorities: [{ type: 'NS', name: 'a.test', ttl: 60, data: 'ns.b.test' }] }),
      ),
    ]);
    expect(await lame.mx('a.test')).toEqual({ kind: 'failed', detail: 'the DNS server refers to others' });
    const empty = dnsResolver([await serve((question) => writeAnswer(question, CODE.none))]);
    expect(await empty.addresses('a.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('does not know the zone') as string,
    });
  });

  it('an empty answer without a SOA record is an absence when the server knows the zone, since local resolvers omit it', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) =>
          writeAnswer(question, CODE.none, question.type === 'SOA' && question.name === 'acme.test' ? { answers: [soa('acme.test')] } : {}),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('mail.eu.acme.test')).toMatchObject({ kind: 'no_data' });
    expect(asked).toEqual(['MX mail.eu.acme.test', 'SOA mail.eu.acme.test', 'SOA eu.acme.test', 'SOA acme.test']);
  });

  it('a resolver that denies every name, even top-level domains, is a filter or offline, and makes no address undeliverable', async () => {
    // The wildcard of a response policy zone covers every name except the root.
    const resolver = dnsResolver([
      await serve((question) =>
        question.name === '' ? writeAnswer(question, CODE.none, { answers: [soa(question.name)] }) : writeAnswer(question, CODE.nxdomain),
      ),
    ]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: false });
    const detail = 'the DNS server denies the name, and knows no zone above it';
    for (const name of ['mail.acme.com', 'acme.con']) expect(await routes.find(name)).toEqual({ kind: 'failed', detail });
    expect(await resolver.addresses('mx.acme.com')).toMatchObject({ kind: 'failed' });
  });

  it('a resolver that knows another top-level domain is believed about a mistyped one; only filters deny an existing one', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) =>
          question.name === 'com'
            ? writeAnswer(question, CODE.none, { answers: [soa(question.name)] })
            : writeAnswer(question, CODE.nxdomain),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gmail.con')).toMatchObject({ kind: 'no_name' });
    expect(await resolver.mx('acme.de')).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual(['MX gmail.con', 'SOA con', 'SOA com', 'MX acme.de', 'SOA de']);
    // The deepest possible name is denied like any other.
    expect(await resolver.mx(`${'a.'.repeat(100)}acme.com`)).toMatchObject({ kind: 'no_name' });
  });

  it('a lost question about the zone is asked once more in the slow queue, and fails when it is lost again', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => {
        const { name, type } = question;
        if (type === 'MX') return writeAnswer(question, name.startsWith('gone') ? CODE.nxdomain : CODE.none);
        return name.startsWith('mute') || heard.get(name) === 1
          ? null
          : writeAnswer(question, CODE.none, { answers: [soa(question.name)] });
      },
      ({ name, type }) => void (type === 'SOA' && heard.set(name, (heard.get(name) ?? 0) + 1)),
    );
    const resolver = dnsResolver([server], { fast: { atOnce: 9, timeoutMs: TIMEOUT_MS }, slow: { atOnce: 9, timeoutMs: TIMEOUT_MS } });
    const silent = { kind: 'failed', detail: 'ETIMEOUT' };
    expect(await Promise.all(['gone.acme.com', 'empty.com', 'gone.mute.com', 'mute.net'].map((name) => resolver.mx(name)))).toEqual([
      { kind: 'no_name', ttlS: null },
      { kind: 'no_data', ttlS: null },
      silent,
      silent,
    ]);
    expect(Object.fromEntries(heard)).toEqual({ 'acme.com': 2, 'empty.com': 2, 'mute.com': 2, 'mute.net': 2 });
  });

  it('a denial counts when the server knows a zone above the name, with or without a SOA record', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) =>
          question.name === 'com'
            ? writeAnswer(question, CODE.none, { authorities: [soa()] })
            : writeAnswer(question, CODE.nxdomain, question.name.endsWith('.test') ? { authorities: [soa()] } : {}),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gone.acme.com')).toMatchObject({ kind: 'no_name' });
    expect(await resolver.mx('gone.test')).toMatchObject({ kind: 'no_name' });
    expect(asked).toEqual(['MX gone.acme.com', 'SOA acme.com', 'SOA com', 'MX gone.test']);
  });

  it('an answer to another question, or an invalid one, is ignored', async () => {
    const socket = createSocket('udp4');
    sockets.push(socket);
    socket.on('message', (message, from) => {
      const question = readQuestion(message);
      if (question === null) return;
      const right = writeAnswer(question, CODE.notauth);
      const wrong = [
        writeAnswer({ ...question, id: (question.id + 1) % 65_536 }, CODE.nxdomain, { authorities: [soa()] }),
        writeAnswer({ ...question, name: 'b.test' }, CODE.nxdomain, { authorities: [soa()] }),
        right.subarray(0, 14),
        Buffer.alloc(600, 0xc0),
      ];
      for (const bytes of [...wrong, right]) socket.send(bytes, from.port, from.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    expect(await dnsResolver([`127.0.0.1:${socket.address().port}`]).mx('a.test')).toEqual({ kind: 'failed', detail: 'DNS error code 9' });
  });

  it('an absence is cached as long as its SOA record says, and records for their time to live', async () => {
    const resolver = dnsResolver([
      await serve((question) =>
        question.name === 'there.test' ? withMx(question) : writeAnswer(question, CODE.nxdomain, { authorities: [soa('test', 17)] }),
      ),
    ]);
    expect(await resolver.mx('gone.test')).toEqual({ kind: 'no_name', ttlS: 17 });
    expect(await resolver.mx('there.test')).toEqual({ kind: 'found', records: [{ preference: 10, host: 'mx.a.test', ttlS: 60 }] });
  });

  it('asks the second server when the first is silent, fails or is unreachable', async () => {
    const slow = { fast: { atOnce: 1, timeoutMs: TIMEOUT_MS }, slow: { atOnce: 1, timeoutMs: TIMEOUT_MS } };
    const [mute, refusing] = [await serve(() => null), await serve((question) => writeAnswer(question, CODE.servfail))];
    const good = await serve(withMx);
    const closed = createSocket('udp4').bind(0, '127.0.0.1');
    await once(closed, 'listening');
    const unreachable = `127.0.0.1:${closed.address().port}`;
    await new Promise<void>((resolve) => closed.close(() => resolve()));
    for (const first of [mute, refusing, unreachable])
      expect(await dnsResolver([first, good], slow).mx('a.test')).toMatchObject({ kind: 'found' });
    expect(await dnsResolver([unreachable], slow).mx('a.test')).toEqual({ kind: 'failed', detail: 'ECONNREFUSED' });
  });

  it('a truncated answer is asked for over TCP, and may arrive in any pieces', async () => {
    const hosts = Array.from({ length: 200 }, (_, n) => mx('big.test', `mx${n}.big.test`, n));
    const server = await serveTcp((socket, query) => {
      const question = readQuestion(query.subarray(2));
      if (question === null) return;
      const whole = writeAnswer(question, CODE.none, { answers: hosts });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(whole.length);
      for (const piece of [length, whole.subarray(0, 1), whole.subarray(1, 700), whole.subarray(700)]) socket.write(piece);
    });
    const found = await dnsResolver([server]).mx('big.test');
    expect(found).toMatchObject({ kind: 'found' });
    expect(found.kind === 'found' && found.records.length).toBe(200);
  });

  it('a TCP server that sends nothing or nonsense is a failure, not an absence', async () => {
    for (const reply of [null, Buffer.from([0, 4, 1, 2, 3, 4])]) {
      const server = await serveTcp((socket) => void (reply === null ? socket.end() : socket.write(reply)));
      expect(await dnsResolver([server]).mx('a.test')).toMatchObject({ kind: 'failed' });
    }
  });
});

it('a semaphore runs its limit of tasks at once, in order, and goes on after one that throws', async () => {
  const semaphore = new Semaphore(2);
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const all = Array.from({ length: 5 }, (_, n) =>
    semaphore.run(async () => {
      began.push(n);
      await new Promise<void>((resolve, reject) => ends.push(n === 0 ? () => reject(new Error('no')) : resolve));
      return n;
    }),
  );
  const settled = Promise.allSettled(all);
  for (const expected of [2, 3, 4, 5]) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(began).toEqual(Array.from({ length: expected }, (_, n) => n));
    ends.shift()?.();
  }
  for (const end of ends) end();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(DNS_QUEUES.fast.atOnce + DNS_QUEUES.slow.atOnce).toBeLessThan(250);
});
