import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { HostAddress, Resolver } from '../../../src/verification/dns/resolver.ts';
import { AttemptSender, TIMEOUT_MS } from '../../../src/service/webhooks/attempt.ts';
import { CERTIFICATE, KEY as CERTIFICATE_KEY } from '../../services/certificate.ts';
import { Receiver } from './receiver.ts';

afterEach(() => void vi.useRealTimers());

const resolves = (...addresses: string[]): Pick<Resolver, 'addresses'> => ({
  addresses: async () => ({
    kind: 'found',
    records: addresses.map((address): HostAddress => ({ address, family: address.includes(':') ? 6 : 4, ttlS: 1 })),
  }),
});
const never = new AbortController().signal;

describe('an attempt', () => {
  it('fails if the certificate is not trusted', async () => {
    const receiver = new Receiver((listener) => createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE }, listener));
    await receiver.listen();
    const sender = new AttemptSender({ isDevelopment: true, resolver: resolves() });
    expect(await sender.send(receiver.url().replace('http:', 'https:'), {}, '{}', never)).toEqual({ status: null, error: 'tls_failed' });
    sender.close();
    expect(receiver.received).toEqual([]);
  });

  it('ends after 15 seconds without an answer', async () => {
    const receiver = await Receiver.start();
    const sender = new AttemptSender({ isDevelopment: true, resolver: resolves() });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    receiver.reactions = [() => undefined];
    const silent = sender.send(receiver.url(), {}, '{}', never);
    await receiver.count(1);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(await silent).toEqual({ status: null, error: 'timed_out' });
    expect(vi.getTimerCount()).toBe(0);
    sender.close();
  });

  it('reuses the connection of the previous one, and opens a new one if that was closed', async () => {
    const receiver = await Receiver.start();
    const sockets = new Set<unknown>();
    receiver.server.on('connection', (socket) => void sockets.add(socket));
    const sender = new AttemptSender({ isDevelopment: true, resolver: resolves() });
    const post = () => sender.send(receiver.url(), {}, '{}', never);
    expect([await post(), await post(), sockets.size]).toEqual([{ status: 200, error: null }, { status: 200, error: null }, 1]);
    receiver.reactions = [(response) => response.destroy()];
    expect([await post(), sockets.size, receiver.received.length]).toEqual([{ status: 200, error: null }, 2, 4]);
    sender.close();
  });

  it('leaves at most 64 idle connections open', async () => {
    const sender = new AttemptSender({ isDevelopment: true, resolver: resolves() });
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
      expect(await sender.send(receiver.url(), {}, '{}', never)).toEqual({ status: 200, error: null });
      // The first 64 connections stay idle for 4 seconds. Later ones are closed at once.
      if (n >= 64) await closed.promise;
    }
    expect(open.size).toBeLessThanOrEqual(64);
    sender.close();
  });
});
