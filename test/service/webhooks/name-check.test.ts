import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { HostAddress, Resolver } from '../../../src/verification/dns/resolver.ts';
import { AttemptSender } from '../../../src/service/webhooks/attempt.ts';
import { KEY, serveStore } from '../harness.ts';
import { createWebhook } from '../../../src/service/webhooks/webhooks-route.ts';
import { World } from './processes.ts';
import { Receiver } from './receiver.ts';

const resolves = (...addresses: string[]): Pick<Resolver, 'addresses'> => ({
  addresses: async () => ({
    kind: 'found',
    records: addresses.map((address): HostAddress => ({ address, family: address.includes(':') ? 6 : 4, ttlS: 1 })),
  }),
});
const never = new AbortController().signal;

describe('a service outside of development', () => {
  it('refuses a webhook whose name resolves to this machine, and a webhook_url with such an address', async () => {
    // The DNS of the simulated mail world resolves this name to loopback.
    const service = await serveStore();
    const refused = await service.post('/v1/webhooks', { event: 'job.change', url: 'https://mx.acme.example' });
    expect([refused.status, refused.json['errors']]).toEqual([
      422,
      [expect.objectContaining({ pointer: '/url', code: 'private_address' })],
    ]);
    expect(await service.post('/v1/enrich', { id: 'pe_1', webhook_url: 'https://127.0.0.1' })).toMatchObject({
      status: 422,
      json: { errors: [{ pointer: '/webhook_url', code: 'private_address' }] },
    });
    // A name that DNS does not know yet is accepted.
    const { json } = await service.post('/v1/webhooks', { event: 'job.change', url: 'https://not-yet.acme.example' });
    const tested = await service.request(`/v1/webhooks/${String(json['id'])}/test`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(tested.json).toMatchObject({ delivered: false, status: null, error: 'no_such_host' });
  });

  it('limits the concurrent name lookups of one key while webhooks are created', async () => {
    const lookedUp: string[] = [];
    const answered = Promise.withResolvers<Awaited<ReturnType<Resolver['addresses']>>>();
    const addresses = (host: string): typeof answered.promise => {
      lookedUp.push(host);
      return answered.promise;
    };
    const { hooks } = (await World.make()).start({ isDevelopment: false, resolver: { addresses } });
    const create = createWebhook({ webhooks: hooks, now: Date.now });
    const createFor = async (id: string, n: number) =>
      create(
        { event: 'job.change', url: `https://h${n}.${id}.example` },
        { call: { charge: { keyId: id } } } as unknown as FastifyRequest,
        () => undefined,
      );
    const answers = [...Array.from({ length: 20 }, (_, n) => createFor('many', n)), createFor('one', 0)];
    expect(lookedUp).toEqual([...Array.from({ length: 16 }, (_, n) => `h${n}.many.example`), 'h0.one.example']);
    // Unknown names are accepted, because each attempt resolves them again.
    answered.resolve({ kind: 'no_name', ttlS: null });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array.from({ length: 21 }, () => 201));
    expect(hooks.names.available).toBe(32);
  });

  it('sends nothing to a name that resolves to a private address at the time of the attempt', async () => {
    const receiver = await Receiver.start();
    const { port } = receiver.server.address() as AddressInfo;
    const sender = new AttemptSender({ isDevelopment: false, resolver: resolves('127.0.0.1') });
    expect(await sender.send(`https://hooks.acme.example:${port}/`, {}, '{}', never)).toEqual({ status: null, error: 'refused_address' });
    expect(await sender.send(receiver.url(), {}, '{}', never)).toEqual({ status: null, error: 'refused_address' });
    sender.close();
    expect(receiver.received).toEqual([]);
  });
});
