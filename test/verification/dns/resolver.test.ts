import type { Answer } from 'dns-packet';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket as TcpSocket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Lane } from '../../../src/verification/dns/lane.ts';
import { MailRoutes } from '../../../src/verification/dns/mail-routes.ts';
import { LANES, dnsResolver } from '../../../src/verification/dns/resolver.ts';
import { a, CODE, mx, readQuestion, soa, writeAnswer, type Asked } from './wire.ts';

/** What is answered is answered within it on a busy machine, too. */
const LATE_MS = 1_500;
const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets.splice(0)) await new Promise<void>((resolve) => socket.close(() => resolve()));
});

/** A DNS server on loopback; null is no answer. */
async function serve(answer: (question: Asked) => Buffer | null, hear: (question: Asked, from: RemoteInfo) => void = () => undefined, port = 0): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = readQuestion(message);
    if (question === null) return;
    hear(question, from);
    const said = answer(question);
    if (said !== null) socket.send(said, from.port, from.address);
  });
  sockets.push(socket);
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

/** The same for answers that do not fit: over UDP it says so, over TCP at the same port `answer` has the connection. */
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
      return await serve((question) => writeAnswer(question, CODE.none, { isTruncated: true }), () => undefined, (server.address() as AddressInfo).port);
    } catch {
      // Another process has that port of UDP.
      sockets.pop();
    }
  }
}

const withMx = (question: Asked): Buffer => writeAnswer(question, CODE.none, { answers: [mx(question.name, 'mx.a.test')] });

describe('dnsResolver', () => {
  it('loses no question, however many are asked at once: the buffers of UDP hold a few hundred', async () => {
    const server = await serve(withMx);
    const resolver = dnsResolver([server]);
    const found = await Promise.all(Array.from({ length: 3_000 }, (_, n) => resolver.mx(`d${n}.test`)));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['found']));
  });

  it('asks once more what is not answered in time, apart from the others; then it is a failure', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => (question.name === 'mute.test' || (question.name.startsWith('late') && heard.get(question.name) === 1) ? null : withMx(question)),
      ({ name }) => void heard.set(name, (heard.get(name) ?? 0) + 1),
    );
    const resolver = dnsResolver([server], { fast: { atOnce: 2, timeoutMs: LATE_MS }, slow: { atOnce: 1, timeoutMs: LATE_MS } });
    const names = ['mute.test', 'late1.test', 'late2.test', 'good1.test', 'good2.test'];
    const found = await Promise.all(names.map((name) => resolver.mx(name)));
    expect(found.map((lookup) => (lookup.kind === 'failed' ? lookup.detail : lookup.kind))).toEqual(['ETIMEOUT', 'found', 'found', 'found', 'found']);
    expect(names.map((name) => heard.get(name))).toEqual([2, 2, 2, 1, 1]);
  });

  it('what the server says is not asked again', async () => {
    let asked = 0;
    const server = await serve((question) => writeAnswer(question, CODE.servfail), () => asked++);
    expect(await dnsResolver([server]).mx('broken.test')).toEqual({ kind: 'failed', detail: 'ESERVFAIL' });
    expect(asked).toBe(1);
  });
});

/** The name in the question is an alias of `target`, which has the records. */
function alias(question: Asked, target: string, records: readonly Answer[]): Buffer {
  return writeAnswer(question, CODE.none, { answers: [{ type: 'CNAME', name: question.name, ttl: 60, data: target }, ...records], authorities: records.length === 0 ? [soa(target)] : [] });
}

describe('aliases', () => {
  it('a domain that is one has the mail hosts of the name that it stands for, and a mail host that is one its addresses', async () => {
    const server = await serve((question) => {
      const { name, type } = question;
      if (type === 'MX' && name === 'alias.test') return alias(question, 'real.test', [mx('real.test', 'mx.alias.test')]);
      if (name === 'mx.alias.test') return alias(question, 'mx.real.test', type === 'A' ? [a('mx.real.test', '8.8.8.8')] : []);
      if (name === 'no-mx.test') return alias(question, 'real.test', type === 'A' ? [a('real.test', '8.8.8.8')] : []);
      return writeAnswer(question, CODE.none, { authorities: [soa()] });
    });
    const routes = new MailRoutes({ resolver: dnsResolver([server]), clock: () => 0, privateAddresses: false });
    const addresses = [{ address: '8.8.8.8' }];
    expect(await routes.find('alias.test')).toMatchObject({ kind: 'hosts', implicit: false, partial: false, hosts: [{ name: 'mx.alias.test', addresses }] });
    expect(await routes.find('no-mx.test')).toMatchObject({ kind: 'hosts', implicit: true, hosts: [{ name: 'no-mx.test', addresses }] });
  });
});

describe('what a DNS server may say', () => {
  const CODES = Array.from({ length: 24 }, (_, rcode) => rcode);
  /** `rN.test` is refused by code N; `hN.test` has the host `rN.test`; `aN.test` has no MX, and its addresses are refused. */
  const zone = (question: Asked): Buffer => {
    const [, kind, code] = /^([rha])(\d+)\.test$/.exec(question.name) ?? [];
    if (kind === 'h' && question.type === 'MX') return writeAnswer(question, CODE.none, { answers: [mx(question.name, `r${code}.test`)] });
    const said = kind === 'a' && question.type === 'MX' ? CODE.none : Number(code);
    return writeAnswer(question, said, said === CODE.none || said === CODE.nxdomain ? { authorities: [soa()] } : {});
  };

  it.each(['r', 'h', 'a'])('a failure is never an absence, by whatever code (%s)', async (kind) => {
    const resolver = dnsResolver([await serve(zone)]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: true });
    const found = await Promise.all(CODES.map((rcode) => routes.find(`${kind}${rcode}.test`)));
    const absent = kind === 'r' ? { 0: 'no_mail_host', 3: 'no_domain' } : { 0: 'no_mail_host', 3: 'no_mail_host' };
    expect(found.map((route) => route.kind)).toEqual(CODES.map((rcode) => absent[rcode as 0 | 3] ?? 'failed'));
  });

  it('says which code it was', async () => {
    const resolver = dnsResolver([await serve(zone)]);
    expect(await resolver.mx('r9.test')).toEqual({ kind: 'failed', detail: 'DNS error code 9' });
    expect(await resolver.addresses('r23.test')).toEqual({ kind: 'failed', detail: 'DNS error code 23' });
  });

  it('a referral, or an empty answer of a server that does not know the zone, is a failure', async () => {
    const lame = dnsResolver([await serve((question) => writeAnswer(question, CODE.none, { authorities: [{ type: 'NS', name: 'a.test', ttl: 60, data: 'ns.b.test' }] }))]);
    expect(await lame.mx('a.test')).toEqual({ kind: 'failed', detail: 'the DNS server refers to others' });
    const empty = dnsResolver([await serve((question) => writeAnswer(question, CODE.none))]);
    expect(await empty.addresses('a.test')).toMatchObject({ kind: 'failed', detail: expect.stringContaining('does not know the zone') as string });
  });

  it('an empty answer without a SOA record is an absence where the server knows the zone: local resolvers leave it out', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) => writeAnswer(question, CODE.none, question.type === 'SOA' && question.name === 'acme.test' ? { answers: [soa('acme.test')] } : {}),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('mail.eu.acme.test')).toMatchObject({ kind: 'no_data' });
    expect(asked).toEqual(['MX mail.eu.acme.test', 'SOA mail.eu.acme.test', 'SOA eu.acme.test', 'SOA acme.test']);
  });

  it('who denies every name, top-level domains included, is a filter or has no way to the Internet: nobody is undeliverable by that', async () => {
    // The wildcard of a response policy zone covers every name but the root's.
    const resolver = dnsResolver([await serve((question) => (question.name === '' ? writeAnswer(question, CODE.none, { answers: [soa(question.name)] }) : writeAnswer(question, CODE.nxdomain)))]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: false });
    const detail = 'the DNS server denies the name, and knows no zone above it';
    for (const name of ['mail.acme.com', 'acme.con']) expect(await routes.find(name)).toEqual({ kind: 'failed', detail });
    expect(await resolver.addresses('mx.acme.com')).toMatchObject({ kind: 'failed' });
  });

  it('a mistyped top-level domain is not there, by the word of whoever knows another; one that there is, is denied by filters alone', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) => (question.name === 'com' ? writeAnswer(question, CODE.none, { answers: [soa(question.name)] }) : writeAnswer(question, CODE.nxdomain)),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gmail.con')).toMatchObject({ kind: 'no_name' });
    expect(await resolver.mx('acme.de')).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual(['MX gmail.con', 'SOA con', 'SOA com', 'MX acme.de', 'SOA de']);
    // A name as deep as names can be is denied as any other.
    expect(await resolver.mx(`${'a.'.repeat(100)}acme.com`)).toMatchObject({ kind: 'no_name' });
  });

  it('a question about the zone that is lost on its way is asked once more, among the slow; then nobody knows', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => {
        const { name, type } = question;
        if (type === 'MX') return writeAnswer(question, name.startsWith('gone') ? CODE.nxdomain : CODE.none);
        return name.startsWith('mute') || heard.get(name) === 1 ? null : writeAnswer(question, CODE.none, { answers: [soa(question.name)] });
      },
      ({ name, type }) => void (type === 'SOA' && heard.set(name, (heard.get(name) ?? 0) + 1)),
    );
    const resolver = dnsResolver([server], { fast: { atOnce: 9, timeoutMs: LATE_MS }, slow: { atOnce: 9, timeoutMs: LATE_MS } });
    const silent = { kind: 'failed', detail: 'ETIMEOUT' };
    expect(await Promise.all(['gone.acme.com', 'empty.com', 'gone.mute.com', 'mute.net'].map((name) => resolver.mx(name)))).toEqual([{ kind: 'no_name', ttlS: null }, { kind: 'no_data', ttlS: null }, silent, silent]);
    expect(Object.fromEntries(heard)).toEqual({ 'acme.com': 2, 'empty.com': 2, 'mute.com': 2, 'mute.net': 2 });
  });

  it('a name is denied by whoever knows a zone above it, with a SOA record or without', async () => {
    const asked: string[] = [];
    const resolver = dnsResolver([
      await serve(
        (question) => (question.name === 'com' ? writeAnswer(question, CODE.none, { authorities: [soa()] }) : writeAnswer(question, CODE.nxdomain, question.name.endsWith('.test') ? { authorities: [soa()] } : {})),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gone.acme.com')).toMatchObject({ kind: 'no_name' });
    expect(await resolver.mx('gone.test')).toMatchObject({ kind: 'no_name' });
    expect(asked).toEqual(['MX gone.acme.com', 'SOA acme.com', 'SOA com', 'MX gone.test']);
  });

  it('an answer to another question, or one that makes no sense, is not heard', async () => {
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

  it('an absence holds for as long as its SOA record says, and records for their time to live', async () => {
    const resolver = dnsResolver([await serve((question) => (question.name === 'there.test' ? withMx(question) : writeAnswer(question, CODE.nxdomain, { authorities: [soa('test', 17)] })))]);
    expect(await resolver.mx('gone.test')).toEqual({ kind: 'no_name', ttlS: 17 });
    expect(await resolver.mx('there.test')).toEqual({ kind: 'found', records: [{ preference: 10, host: 'mx.a.test', ttlS: 60 }] });
  });

  it('asks the second server when the first is silent, refuses, or is not there', async () => {
    const slow = { fast: { atOnce: 1, timeoutMs: LATE_MS }, slow: { atOnce: 1, timeoutMs: LATE_MS } };
    const [mute, refusing] = [await serve(() => null), await serve((question) => writeAnswer(question, CODE.servfail))];
    const good = await serve(withMx);
    const closed = createSocket('udp4').bind(0, '127.0.0.1');
    await once(closed, 'listening');
    const nobody = `127.0.0.1:${closed.address().port}`;
    await new Promise<void>((resolve) => closed.close(() => resolve()));
    for (const first of [mute, refusing, nobody]) expect(await dnsResolver([first, good], slow).mx('a.test')).toMatchObject({ kind: 'found' });
    expect(await dnsResolver([nobody], slow).mx('a.test')).toEqual({ kind: 'failed', detail: 'ECONNREFUSED' });
  });

  it('an answer that does not fit is asked for over TCP, in whatever pieces it comes', async () => {
    const hosts = Array.from({ length: 200 }, (_, n) => mx('big.test', `mx${n}.big.test`, n));
    const place = await serveTcp((socket, query) => {
      const question = readQuestion(query.subarray(2));
      if (question === null) return;
      const whole = writeAnswer(question, CODE.none, { answers: hosts });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(whole.length);
      for (const piece of [length, whole.subarray(0, 1), whole.subarray(1, 700), whole.subarray(700)]) socket.write(piece);
    });
    const found = await dnsResolver([place]).mx('big.test');
    expect(found).toMatchObject({ kind: 'found' });
    expect(found.kind === 'found' && found.records.length).toBe(200);
  });

  it('a TCP server that says nothing, or nonsense, is a failure and never an absence', async () => {
    for (const said of [null, Buffer.from([0, 4, 1, 2, 3, 4])]) {
      const place = await serveTcp((socket) => void (said === null ? socket.end() : socket.write(said)));
      expect(await dnsResolver([place]).mx('a.test')).toMatchObject({ kind: 'failed' });
    }
  });
});

it('a lane runs so many at once, in order, and goes on after one that throws', async () => {
  const lane = new Lane(2);
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const all = Array.from({ length: 5 }, (_, n) =>
    lane.run(async () => {
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
  expect(LANES.fast.atOnce + LANES.slow.atOnce).toBeLessThan(250);
});
