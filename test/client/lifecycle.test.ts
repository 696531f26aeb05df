/** Waiting, cancelling, closing. */
import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { answer, EMAIL_BODY, makeClient, PERSON_TEXT, serve, serveCanned } from './servers.ts';

/** A service that holds its answers back until `release`. */
async function serveGate(): Promise<{ url: string; arrived: (n: number) => Promise<void>; release: () => void }> {
  const held: ServerResponse[] = [];
  let waiting: { n: number; resolve: () => void } | null = null;
  const url = await serve((_request, response) => {
    held.push(response);
    if (waiting !== null && held.length >= waiting.n) waiting.resolve();
  });
  return {
    url,
    arrived: (n) =>
      new Promise((resolve) => {
        if (held.length >= n) resolve();
        else waiting = { n, resolve };
      }),
    release: () => {
      for (const response of held.splice(0)) answer(response, { status: 200, body: PERSON_TEXT });
    },
  };
}

const aborted = { kind: 'retryable', code: 'aborted' };

describe('close', () => {
  it('waits for calls in flight and for calls that wait for a socket', async () => {
    const gate = await serveGate();
    const client = makeClient(gate.url, { connections: 1 });
    const calls = [client.callEnrich(EMAIL_BODY), client.callEnrich(EMAIL_BODY)];
    await gate.arrived(1);
    let closed = false;
    const closing = client.close().then(() => {
      closed = true;
    });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ ...aborted, detail: 'the client is closed' });
    expect(closed).toBe(false);
    gate.release();
    expect((await calls[0])?.kind).toBe('ok');
    expect(closed).toBe(false);
    await gate.arrived(1);
    gate.release();
    expect((await calls[1])?.kind).toBe('ok');
    await closing;
    expect(closed).toBe(true);
  });

  it('may be called twice, before the first call, and after destroy', async () => {
    const client = makeClient('http://127.0.0.1:1');
    await Promise.all([client.close(), client.close()]);
    await client.destroy();
    await client.close();
    const other = makeClient('http://127.0.0.1:1');
    await other.destroy();
    await other.close();
    expect(await other.callEnrich(EMAIL_BODY)).toMatchObject(aborted);
  });
});

describe('destroy', () => {
  it('cancels calls in flight and calls that wait for a socket', async () => {
    const gate = await serveGate();
    const client = makeClient(gate.url, { connections: 2 });
    const calls = Array.from({ length: 6 }, () => client.callEnrich(EMAIL_BODY));
    await gate.arrived(2);
    await client.destroy();
    for (const result of await Promise.all(calls)) expect(result).toMatchObject(aborted);
  });

  it('ends a close that waits', async () => {
    const gate = await serveGate();
    const client = makeClient(gate.url);
    const call = client.callEnrich(EMAIL_BODY);
    await gate.arrived(1);
    const closing = client.close();
    await client.destroy();
    await closing;
    expect(await call).toMatchObject(aborted);
  });
});

describe('an abort signal', () => {
  it('cancels its own call alone', async () => {
    const gate = await serveGate();
    const client = makeClient(gate.url);
    const abort = new AbortController();
    const calls = [client.callEnrich(EMAIL_BODY, { signal: abort.signal }), client.callEnrich(EMAIL_BODY)];
    await gate.arrived(2);
    abort.abort();
    expect(await calls[0]).toMatchObject({ ...aborted, detail: 'cancelled by the caller' });
    gate.release();
    expect((await calls[1])?.kind).toBe('ok');
  });

  it('keeps a call that waits for a socket from being sent', async () => {
    const gate = await serveGate();
    const client = makeClient(gate.url, { connections: 1 });
    const abort = new AbortController();
    const first = client.callEnrich(EMAIL_BODY);
    const second = client.callEnrich('{"email":"never@acme.example"}', { signal: abort.signal });
    const third = client.callEnrich(EMAIL_BODY);
    await gate.arrived(1);
    abort.abort();
    expect(await second).toMatchObject(aborted);
    gate.release();
    expect((await first).kind).toBe('ok');
    await gate.arrived(1);
    gate.release();
    expect((await third).kind).toBe('ok');
  });

  it('sends nothing when it has fired already', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      answer(response, { status: 200, body: PERSON_TEXT });
    });
    const client = makeClient(url);
    expect(await client.callEnrich(EMAIL_BODY, { signal: AbortSignal.abort() })).toMatchObject(aborted);
    expect((await client.callEnrich(EMAIL_BODY)).kind).toBe('ok');
    expect(requests).toBe(1);
  });

  it('leaves no listener behind', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: PERSON_TEXT }));
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await Promise.all(Array.from({ length: 20 }, () => client.callEnrich(EMAIL_BODY, { signal })));
    expect(listeners).toBe(0);
  });
});

it('a call that waits too long for a socket ends with a timeout and is not sent later', async () => {
  const { InFlight } = await import('../../src/client/in-flight.ts');
  const { Exchange } = await import('../../src/client/exchange.ts');
  const inFlight = new InFlight();
  const bounds = { maxBytes: 1000, unsentMs: 1, firstMs: 10_000, nextMs: 10_000, totalMs: 10_000 };
  const waiting = new Promise<InstanceType<typeof Exchange>>((resolve, reject) => {
    const exchange = new Exchange(inFlight, bounds, null, resolve, reject);
    exchange.startedAt = performance.now();
    inFlight.add(exchange, 1);
  });
  // The sweep does not keep the process alive, so the test does.
  const alive = setInterval(() => {}, 1000);
  const exchange = await waiting;
  clearInterval(alive);
  expect(exchange.failure).toMatchObject({ code: 'timeout', detail: expect.stringMatching(/no free connection/) });
  let aborts = 0;
  exchange.onRequestStart({
    pause() {},
    resume() {},
    abort: () => {
      aborts += 1;
    },
  });
  expect(aborts).toBe(1);
});

it('a finished call of the library leaves no listener at the signal of its caller', async () => {
  const client = makeClient(await serveCanned({ status: 200, body: '{"status":"ok"}' }));
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) await client.health({ signal });
  await expect(client.graphql('{}', {}, { idempotencyKey: 'a\nb' })).rejects.toThrow('invalid');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
