import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import * as fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { HostAddress, Resolver } from '../../../src/verification/dns/resolver.ts';
import { addressesOf, checkedLookup, isReachable } from '../../../src/service/webhooks/reach.ts';
import { Poster, TIMEOUT_MS } from '../../../src/service/webhooks/post.ts';
import { checkWebhookUrl, urlProblem } from '../../../src/service/webhooks/url.ts';
import { KEY, serveStore } from '../harness.ts';
import { createWebhook } from '../../../src/service/routes/webhooks.ts';
import { World } from './processes.ts';
import { CERTIFICATE, KEY as CERTIFICATE_KEY } from '../../services/certificate.ts';
import { Receiver } from './receiver.ts';

afterEach(() => void vi.useRealTimers());

const resolves = (...addresses: string[]): Pick<Resolver, 'addresses'> => ({
  addresses: async () => ({ kind: 'found', records: addresses.map((address): HostAddress => ({ address, family: address.includes(':') ? 6 : 4, ttlS: 1 })) }),
});
const never = new AbortController().signal;

/** By the registries, in numbers of 32 bits: the first and the last address of each range that is not the Internet's. */
const RESERVED4 = ['0.0.0.0 0.255.255.255', '10.0.0.0 10.255.255.255', '100.64.0.0 100.127.255.255', '127.0.0.0 127.255.255.255', '169.254.0.0 169.254.255.255', '172.16.0.0 172.31.255.255', '192.0.0.0 192.0.0.255', '192.0.2.0 192.0.2.255',
  '192.88.99.0 192.88.99.255', '192.168.0.0 192.168.255.255', '198.18.0.0 198.19.255.255', '198.51.100.0 198.51.100.255', '203.0.113.0 203.0.113.255', '224.0.0.0 255.255.255.255'].map((range) => range.split(' ').map(numberOf) as [number, number]);
/** First groups of IPv6 ranges, and how many bits of them count. */
const RESERVED6: readonly (readonly [bigint, number])[] = [[0x2001_0000n, 23], [0x2001_0db8n, 32], [0x2002_0000n, 16], [0x3fff_0000n, 20]];

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
const grouped = (value: bigint): string => Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(':');
const any4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/** Any, and those at the edges of ranges. */
const address4 = fc.oneof(any4, fc.constantFrom(...RESERVED4.flatMap(([from, to]) => [from - 1, from, to, to + 1])).filter((value) => value >= 0 && value < 2 ** 32));
const isReserved4 = (value: number): boolean => RESERVED4.some(([from, to]) => value >= from && value <= to);
const address6 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
  fc.bigInt({ min: 0n, max: (1n << 125n) - 1n }).map((value) => value | (1n << 125n)),
  fc.tuple(fc.constantFrom(...RESERVED6), fc.bigInt({ min: 0n, max: (1n << 96n) - 1n })).map(([[head], tail]) => (head << 96n) | tail),
);

describe('addresses that may be called', () => {
  it('are those of IPv4 that no registry keeps for something else', () => {
    fc.assert(fc.property(address4, (value) => {
      expect(isReachable(dotted(value)), dotted(value)).toBe(!isReserved4(value));
    }), { numRuns: 2_000 });
  });

  it('are of IPv6 the global ones alone, and none that stands for an IPv4 address', () => {
    const isGlobal = (value: bigint): boolean => value >> 125n === 1n && !RESERVED6.some(([head, bits]) => value >> BigInt(128 - bits) === head >> BigInt(32 - bits));
    fc.assert(fc.property(address6, (value) => {
      expect(isReachable(grouped(value)), grouped(value)).toBe(isGlobal(value));
    }), { numRuns: 2_000 });
    fc.assert(fc.property(any4, (value) => {
      for (const form of [`::ffff:${dotted(value)}`, `::${dotted(value)}`, `64:ff9b::${dotted(value)}`, `64:ff9b:1::${dotted(value)}`, grouped((0x2002n << 112n) | (BigInt(value) << 80n)), grouped((0x2001_0000n << 96n) | BigInt(value))]) expect(isReachable(form), form).toBe(false);
    }));
  });

  it('are all of a name, or none: one that is refused is reason enough, and the socket gets no other', async () => {
    await fc.assert(fc.asyncProperty(fc.array(address4.map((value) => ({ address: dotted(value), isFine: !isReserved4(value) })), { minLength: 1, maxLength: 4 }), async (found) => {
      const resolver = resolves(...found.map(({ address }) => address));
      const looked = await new Promise<unknown>((resolve) => checkedLookup(resolver)('hooks.acme.example', { all: true }, (error, addresses) => resolve(error === null ? addresses : error.code)));
      const isFine = found.every((one) => one.isFine);
      expect(looked).toEqual(isFine ? found.map(({ address }) => ({ address, family: 4 })) : 'refused_address');
    }));
    await expect(addressesOf('hooks.acme.example', { addresses: async () => ({ kind: 'failed', detail: 'SERVFAIL' }) })).rejects.toMatchObject({ code: 'no_such_host' });
  });
});

describe('URLs that may be called', () => {
  it.each([
    ['https://hooks.acme.example/a?b=c', null], ['https://HOOKS.acme.example:8443/', null], ['https://8.8.8.8/', null], ['https://[2a00:1450::1]/', null], ['https://bücher.example', 'format'],
    ['http://hooks.acme.example/', 'insecure'], ['ws://hooks.acme.example/', 'format'], ['hooks.acme.example', 'format'], ['https:hooks.acme.example', 'format'], ['https:///hooks.acme.example', 'format'], ['https://', 'format'],
    ['https://a@hooks.acme.example', 'credentials'], ['https://hooks.acme.example@127.0.0.1', 'credentials'], [`https://hooks.acme.example/${'x'.repeat(2_048)}`, 'too_long'],
    ['https://hooks.acme.example/\n', 'format'], ['https://127.0.0.1\t.acme.example', 'format'], ['https://localhost', 'private_address'], ['https://localhost.', 'private_address'], ['https://a.localhost', 'private_address'],
    ['https://intranet', 'private_address'], ['https://db.internal', 'private_address'], ['https://127.0.0.1', 'private_address'], ['https://127.1', 'private_address'], ['https://2130706433', 'private_address'], ['https://0x7f.0.0.1', 'private_address'],
    ['https://0177.0.0.1', 'private_address'], ['https://127.0.0.1.', 'private_address'], ['https://%31%32%37.0.0.1', 'private_address'], ['https://[::1]', 'private_address'], ['https://[::ffff:8.8.8.8]', 'private_address'],
    ['https://[fe80::1]', 'private_address'], ['https://169.254.169.254/latest', 'private_address'],
  ])('%s: %s', (url, code) => expect(urlProblem(url, false)?.code ?? null).toBe(code));

  it('are told what is wrong with the characters of others', () => {
    expect(urlProblem('https://bücher.example/', false)?.detail).toContain('xn--');
    expect([urlProblem(new URL('https://bücher.example/').href, false), urlProblem('https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1', false)?.code]).toEqual([null, 'private_address']);
  });

  it('are called without their fragment; in development they may be HTTP and anywhere', () => {
    expect([checkWebhookUrl('https://Hooks.acme.example#secret', false), checkWebhookUrl('http://127.0.0.1:8080/a', true), checkWebhookUrl('http://localhost', true)]).toEqual(['https://hooks.acme.example/', 'http://127.0.0.1:8080/a', 'http://localhost/']);
    expect(() => checkWebhookUrl('http://127.0.0.1', false)).toThrow(expect.objectContaining({ code: 'validation_failed', errors: [expect.objectContaining({ pointer: '/webhook_url', code: 'insecure' })] }));
  });

  it('whatever host is written, no private address is let in', () => {
    const forms = (value: number): string[] => [dotted(value), String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`, `${value >>> 24}.${value & 0xffffff}`, `[::ffff:${dotted(value)}]`, `${dotted(value)}.`];
    fc.assert(fc.property(address4.filter(isReserved4), (value) => {
      for (const form of forms(value)) expect(urlProblem(`https://${form}/`, false)?.code, form).toBe('private_address');
    }));
  });
});

describe('a service that is not in development', () => {
  it('makes no webhook for a name that leads to this machine, and refuses such addresses with requests', async () => {
    // Its world of mail has a host of its own, on loopback.
    const service = await serveStore();
    const refused = await service.post('/v1/webhooks', { event: 'job.change', url: 'https://mx.acme.example' });
    expect([refused.status, refused.json['errors']]).toEqual([422, [expect.objectContaining({ pointer: '/url', code: 'private_address' })]]);
    expect(await service.post('/v1/enrich', { id: 'pe_1', webhook_url: 'https://127.0.0.1' })).toMatchObject({ status: 422, json: { errors: [{ pointer: '/webhook_url', code: 'private_address' }] } });
    // One that DNS does not know yet may come.
    const { json } = await service.post('/v1/webhooks', { event: 'job.change', url: 'https://not-yet.acme.example' });
    const tested = await service.request(`/v1/webhooks/${String(json['id'])}/test`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` } });
    expect(tested.json).toMatchObject({ delivered: false, status: null, error: 'no_such_host' });
  });

  it('looks for few names of one key at a time while webhooks are made, for however many it asks', async () => {
    const asked: string[] = [];
    const answered = Promise.withResolvers<Awaited<ReturnType<Resolver['addresses']>>>();
    const addresses = (host: string): typeof answered.promise => {
      asked.push(host);
      return answered.promise;
    };
    const { hooks } = (await World.make()).start({ isDevelopment: false, resolver: { addresses } });
    const create = createWebhook({ webhooks: hooks, now: Date.now });
    const make = async (id: string, n: number) => create({ event: 'job.change', url: `https://h${n}.${id}.example` }, { call: { key: { id } } } as unknown as FastifyRequest);
    const made = [...Array.from({ length: 20 }, (_, n) => make('many', n)), make('one', 0)];
    expect(asked).toEqual([...Array.from({ length: 16 }, (_, n) => `h${n}.many.example`), 'h0.one.example']);
    // What nobody knows yet may come, and is looked at again when it is called.
    answered.resolve({ kind: 'no_name', ttlS: null });
    expect((await Promise.all(made)).map(({ status }) => status)).toEqual(Array.from({ length: 21 }, () => 201));
    expect(hooks.names.room).toBe(32);
  });

  it('sends nothing to a name that leads to a private address by the time of sending', async () => {
    const receiver = await Receiver.start();
    const { port } = receiver.server.address() as AddressInfo;
    const poster = new Poster({ isDevelopment: false, resolver: resolves('127.0.0.1') });
    expect(await poster.post(`https://hooks.acme.example:${port}/`, {}, '{}', never)).toEqual({ status: null, error: 'refused_address' });
    expect(await poster.post(receiver.url(), {}, '{}', never)).toEqual({ status: null, error: 'refused_address' });
    poster.close();
    expect(receiver.received).toEqual([]);
  });
});

describe('an attempt', () => {
  it('takes no certificate that nobody vouches for', async () => {
    const receiver = new Receiver((listener) => createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE }, listener));
    await receiver.listen();
    const poster = new Poster({ isDevelopment: true, resolver: resolves() });
    expect(await poster.post(receiver.url().replace('http:', 'https:'), {}, '{}', never)).toEqual({ status: null, error: 'tls_failed' });
    poster.close();
    expect(receiver.received).toEqual([]);
  });

  it('ends after 15 seconds, whether nothing was answered or only its beginning', async () => {
    const receiver = await Receiver.start();
    const poster = new Poster({ isDevelopment: true, resolver: resolves() });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    receiver.reactions = [() => undefined];
    const silent = poster.post(receiver.url(), {}, '{}', never);
    await receiver.count(1);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(await silent).toEqual({ status: null, error: 'timed_out' });
    expect(vi.getTimerCount()).toBe(0);
    poster.close();
  });

  it('goes over the connection of the one before; one that was closed meanwhile is no failure', async () => {
    const receiver = await Receiver.start();
    const sockets = new Set<unknown>();
    receiver.server.on('connection', (socket) => void sockets.add(socket));
    const poster = new Poster({ isDevelopment: true, resolver: resolves() });
    const post = () => poster.post(receiver.url(), {}, '{}', never);
    expect([await post(), await post(), sockets.size]).toEqual([{ status: 200, error: null }, { status: 200, error: null }, 1]);
    receiver.reactions = [(response) => response.destroy()];
    expect([await post(), sockets.size, receiver.received.length]).toEqual([{ status: 200, error: null }, 2, 4]);
    poster.close();
  });

  it('leaves few connections open, however many receivers there are', async () => {
    const poster = new Poster({ isDevelopment: true, resolver: resolves() });
    const open = new Set<Socket>();
    for (let n = 0; n < 80; n++) {
      const receiver = await Receiver.start();
      const closed = Promise.withResolvers<void>();
      receiver.server.on('connection', (socket: Socket) => {
        open.add(socket);
        socket.once('close', () => {
          open.delete(socket);
          closed.resolve();
        });
      });
      expect(await poster.post(receiver.url(), {}, '{}', never)).toEqual({ status: 200, error: null });
      // The first ones are kept for 4 seconds.
      if (n >= 64) await closed.promise;
    }
    expect(open.size).toBeLessThanOrEqual(64);
    poster.close();
  });
});
