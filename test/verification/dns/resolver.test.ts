import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { readQuestion, writeAnswer, type Question, type WorldRecord } from '../../../src/service/mail-world/dns-message.ts';
import { Lane } from '../../../src/verification/dns/lane.ts';
import { MailRoutes } from '../../../src/verification/dns/mail-routes.ts';
import { CLASS_IN, HEADER_OCTETS, number16, RCODE, TYPE, writeName } from '../../../src/verification/dns/message.ts';
import { LANES, platformResolver } from '../../../src/verification/dns/resolver.ts';

/** What is answered is answered within it on a busy machine, too. */
const LATE_MS = 1_500;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) await new Promise<void>((resolve) => socket.close(() => resolve()));
});

/** A DNS server on loopback; null is no answer. */
async function serve(answer: (question: Question) => Buffer | null, hear: (question: Question, from: RemoteInfo) => void = () => undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = readQuestion(message);
    if (question === null) return;
    hear(question, from);
    const said = answer(question);
    if (said !== null) socket.send(said, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  sockets.push(socket);
  return `127.0.0.1:${socket.address().port}`;
}

const mx = (question: Question): Buffer => writeAnswer(question, RCODE.none, [{ type: 'mx', preference: 10, host: 'mx.a.test', ttlS: 60 }]);

describe('platformResolver', () => {
  it('loses no question, however many are asked at once: the buffers of UDP hold a few hundred', async () => {
    const server = await serve(mx);
    const resolver = platformResolver([server]);
    const found = await Promise.all(Array.from({ length: 3_000 }, (_, n) => resolver.mx(`d${n}.test`)));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['found']));
  });

  it('asks once more what is not answered in time, apart from the others; then it is a failure', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => (question.name === 'mute.test' || (question.name.startsWith('late') && heard.get(question.name) === 1) ? null : mx(question)),
      ({ name }) => void heard.set(name, (heard.get(name) ?? 0) + 1),
    );
    const resolver = platformResolver([server], { fast: { atOnce: 2, timeoutMs: LATE_MS }, slow: { atOnce: 1, timeoutMs: LATE_MS } });
    const names = ['mute.test', 'late1.test', 'late2.test', 'good1.test', 'good2.test'];
    const found = await Promise.all(names.map((name) => resolver.mx(name)));
    expect(found.map((lookup) => (lookup.kind === 'failed' ? lookup.detail : lookup.kind))).toEqual(['ETIMEOUT', 'found', 'found', 'found', 'found']);
    expect(names.map((name) => heard.get(name))).toEqual([2, 2, 2, 1, 1]);
  });

  it('what the server says is not asked again', async () => {
    let asked = 0;
    const server = await serve((question) => writeAnswer(question, RCODE.servfail, []), () => asked++);
    expect(await platformResolver([server]).mx('broken.test')).toEqual({ kind: 'failed', detail: 'ESERVFAIL' });
    expect(asked).toBe(1);
  });
});

/** An answer without records and this code, the upper bits of it in an OPT record (RFC 6891 6.1.3). */
function refuse(question: Question, rcode: number): Buffer {
  const answer = writeAnswer(question, rcode & 0x0f, [], rcode === RCODE.none || rcode === RCODE.nxdomain ? [{ type: 'soa', ttlS: 60 }] : []);
  if (rcode < 16) return answer;
  answer.writeUInt16BE(1, 10);
  return Buffer.concat([answer, Buffer.from([0, 0, TYPE.opt, 4, 208, rcode >> 4, 0, 0, 0, 0, 0])]);
}

const CNAME = 5;
const SOA: WorldRecord = { type: 'soa', ttlS: 60 };

/** The name in the question is an alias of `target`, which has the record, or none of the kind. */
function alias(question: Question, target: string, record: WorldRecord | null): Buffer {
  const plain = writeAnswer(question, RCODE.none, record === null ? [] : [record]);
  const end = HEADER_OCTETS + question.raw.length;
  plain.writeUInt16BE(record === null ? 1 : 2, 6);
  const name = writeName(target);
  const link = Buffer.concat([plain.subarray(end, end + 2), number16(CNAME), number16(CLASS_IN), Buffer.from([0, 0, 0, 60]), number16(name.length), name]);
  return Buffer.concat([plain.subarray(0, end), link, ...(record === null ? [plain.subarray(end)] : [name, plain.subarray(end + 2)])]);
}

describe('aliases', () => {
  it('a domain that is one has the mail hosts of the name that it stands for, and a mail host that is one its addresses', async () => {
    const address: WorldRecord = { type: 'a', address: '8.8.8.8', ttlS: 60 };
    const server = await serve((question) => {
      const { name, type } = question;
      if (type === TYPE.mx && name === 'alias.test') return alias(question, 'real.test', { type: 'mx', preference: 10, host: 'mx.alias.test', ttlS: 60 });
      if (name === 'mx.alias.test') return alias(question, 'mx.real.test', type === TYPE.a ? address : null);
      if (name === 'no-mx.test') return alias(question, 'real.test', type === TYPE.a ? address : null);
      return writeAnswer(question, RCODE.none, []);
    });
    const routes = new MailRoutes({ resolver: platformResolver([server]), clock: () => 0, privateAddresses: false });
    const addresses = [{ address: '8.8.8.8' }];
    expect(await routes.find('alias.test')).toMatchObject({ kind: 'hosts', implicit: false, partial: false, hosts: [{ name: 'mx.alias.test', addresses }] });
    expect(await routes.find('no-mx.test')).toMatchObject({ kind: 'hosts', implicit: true, hosts: [{ name: 'no-mx.test', addresses }] });
  });
});

describe('what a DNS server may say', () => {
  const RCODES = Array.from({ length: 24 }, (_, rcode) => rcode);
  /** `rN.test` is refused by code N; `hN.test` has the host `rN.test`; `aN.test` has no MX, and its addresses are refused. */
  const zone = (question: Question): Buffer => {
    const [, kind, code] = /^([rha])(\d+)\.test$/.exec(question.name) ?? [];
    if (kind === 'h' && question.type === TYPE.mx) return writeAnswer(question, RCODE.none, [{ type: 'mx', preference: 10, host: `r${code}.test`, ttlS: 60 }]);
    return refuse(question, kind === 'a' && question.type === TYPE.mx ? RCODE.none : Number(code));
  };

  it.each(['r', 'h', 'a'])('a failure is never an absence, by whatever code (%s)', async (kind) => {
    const resolver = platformResolver([await serve(zone)]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: true });
    const found = await Promise.all(RCODES.map((rcode) => routes.find(`${kind}${rcode}.test`)));
    const absent = kind === 'r' ? { 0: 'no_mail_host', 3: 'no_domain' } : { 0: 'no_mail_host', 3: 'no_mail_host' };
    expect(found.map((route) => route.kind)).toEqual(RCODES.map((rcode) => absent[rcode as 0 | 3] ?? 'failed'));
  });

  it('says which code it was', async () => {
    const resolver = platformResolver([await serve(zone)]);
    expect(await resolver.mx('r9.test')).toEqual({ kind: 'failed', detail: 'DNS error code 9' });
    expect(await resolver.addresses('r23.test')).toEqual({ kind: 'failed', detail: 'DNS error code 23' });
  });

  it('a referral, or an empty answer of a server that does not know the zone, is a failure', async () => {
    const lame = platformResolver([await serve((question) => writeAnswer(question, RCODE.none, [], [{ type: 'ns', ttlS: 60 }]))]);
    expect(await lame.mx('a.test')).toEqual({ kind: 'failed', detail: 'the DNS server refers to others' });
    const empty = platformResolver([await serve((question) => writeAnswer(question, RCODE.none, [], []))]);
    expect(await empty.addresses('a.test')).toMatchObject({ kind: 'failed', detail: expect.stringContaining('does not know the zone') as string });
  });

  it('an empty answer without a SOA record is an absence where the server knows the zone: local resolvers leave it out', async () => {
    const asked: string[] = [];
    const resolver = platformResolver([
      await serve(
        (question) => writeAnswer(question, RCODE.none, question.type === TYPE.soa && question.name === 'acme.test' ? [{ type: 'soa', ttlS: 60 }] : [], []),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('mail.eu.acme.test')).toEqual({ kind: 'no_data' });
    expect(asked).toEqual(['15 mail.eu.acme.test', '15 mail.eu.acme.test', '6 mail.eu.acme.test', '6 eu.acme.test', '6 acme.test']);
  });

  it('who denies every name, top-level domains included, is a filter or has no way to the Internet: nobody is undeliverable by that', async () => {
    // The wildcard of a response policy zone covers every name but the root's.
    const resolver = platformResolver([await serve((question) => (question.name === '' ? writeAnswer(question, RCODE.none, [SOA]) : writeAnswer(question, RCODE.nxdomain, [], [])))]);
    const routes = new MailRoutes({ resolver, clock: () => 0, privateAddresses: false });
    const detail = 'the DNS server denies the name, and knows no zone above it';
    for (const name of ['mail.acme.com', 'acme.con']) expect(await routes.find(name)).toEqual({ kind: 'failed', detail });
    expect(await resolver.addresses('mx.acme.com')).toMatchObject({ kind: 'failed' });
  });

  it('a mistyped top-level domain is not there, by the word of whoever knows another; one that there is, is denied by filters alone', async () => {
    const asked: string[] = [];
    const resolver = platformResolver([
      await serve(
        (question) => (question.name === 'com' ? writeAnswer(question, RCODE.none, [SOA]) : writeAnswer(question, RCODE.nxdomain, [], [])),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gmail.con')).toEqual({ kind: 'no_name' });
    expect(await resolver.mx('acme.de')).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual(['15 gmail.con', '15 gmail.con', '6 con', '6 com', '15 acme.de', '15 acme.de', '6 de']);
    // A name as deep as names can be is denied as any other.
    expect(await resolver.mx(`${'a.'.repeat(100)}acme.com`)).toEqual({ kind: 'no_name' });
  });

  it('a question about the zone that is lost on its way is asked once more, among the slow; then nobody knows', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => {
        const { name, type } = question;
        if (type === TYPE.mx) return writeAnswer(question, name.startsWith('gone') ? RCODE.nxdomain : RCODE.none, [], []);
        return name.startsWith('mute') || heard.get(name) === 1 ? null : writeAnswer(question, RCODE.none, [SOA]);
      },
      ({ name, type }) => void (type === TYPE.soa && heard.set(name, (heard.get(name) ?? 0) + 1)),
    );
    const resolver = platformResolver([server], { fast: { atOnce: 9, timeoutMs: LATE_MS }, slow: { atOnce: 9, timeoutMs: LATE_MS } });
    const silent = { kind: 'failed', detail: 'ETIMEOUT' };
    expect(await Promise.all(['gone.acme.com', 'empty.com', 'gone.mute.com', 'mute.net'].map((name) => resolver.mx(name)))).toEqual([{ kind: 'no_name' }, { kind: 'no_data' }, silent, silent]);
    expect(Object.fromEntries(heard)).toEqual({ 'acme.com': 2, 'empty.com': 2, 'mute.com': 2, 'mute.net': 2 });
  });

  it('a name is denied by whoever knows a zone above it, with a SOA record or without', async () => {
    const asked: string[] = [];
    const resolver = platformResolver([
      await serve(
        (question) => (question.name === 'com' ? writeAnswer(question, RCODE.none, [], [{ type: 'soa', ttlS: 60 }]) : writeAnswer(question, RCODE.nxdomain, [], question.name.endsWith('.test') ? [{ type: 'soa', ttlS: 60 }] : [])),
        ({ name, type }) => asked.push(`${type} ${name}`),
      ),
    ]);
    expect(await resolver.mx('gone.acme.com')).toEqual({ kind: 'no_name' });
    expect(await resolver.mx('gone.test')).toEqual({ kind: 'no_name' });
    expect(asked).toEqual(['15 gone.acme.com', '15 gone.acme.com', '6 acme.com', '6 com', '15 gone.test', '15 gone.test']);
  });

  it('an answer that nobody asked for, or that makes no sense, is not heard', async () => {
    let asked = 0;
    // The platform is told that there is nothing; whoever asks again hears another's answer, half of one, and then the right one.
    const server = await serve((question) => {
      const right = writeAnswer(question, asked++ === 0 ? RCODE.none : RCODE.notauth, []);
      if (asked === 1) return right;
      return asked === 2 ? Buffer.concat([right.subarray(0, 2), right.subarray(2, 14)]) : right;
    });
    const resolver = platformResolver([server], { fast: { atOnce: 1, timeoutMs: LATE_MS }, slow: { atOnce: 1, timeoutMs: LATE_MS } });
    expect(await resolver.mx('a.test')).toEqual({ kind: 'failed', detail: 'DNS error code 9' });
    expect(asked).toBe(3);
  });

  it('asks the second server when the first is silent', async () => {
    const none = (question: Question): Buffer => writeAnswer(question, RCODE.none, []);
    let confirmed = 0;
    const mute = await serve((question) => (confirmed++ === 0 ? none(question) : null));
    const resolver = platformResolver([mute, await serve(none)], { fast: { atOnce: 1, timeoutMs: LATE_MS }, slow: { atOnce: 1, timeoutMs: LATE_MS } });
    expect(await resolver.mx('a.test')).toEqual({ kind: 'no_data' });
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
