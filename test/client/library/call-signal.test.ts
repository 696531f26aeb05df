/** Signals of calls. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { CallSignal } from '../../../src/client/library/call-signal.ts';
import { makeClient, serveCanned } from '../servers.ts';

describe('the signal of a call', () => {
  it('a call ends with any of its sources, also with one that has fired before', () => {
    const sources = [new AbortController(), new AbortController()] as const;
    const call = new CallSignal([sources[0].signal, undefined, sources[1].signal], null);
    expect(call.signal.aborted).toBe(false);
    sources[1].abort();
    expect(call.signal.aborted).toBe(true);
    expect(new CallSignal([sources[0].signal, sources[1].signal], null).signal.aborted).toBe(true);
  });

  it('a call ends with a TimeoutError at its limit', async () => {
    const call = new CallSignal([], 1);
    await expect.poll(() => call.signal.aborted).toBe(true);
    expect(call.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('a finished call leaves no listener at the signal of its caller', async () => {
    const client = makeClient(await serveCanned({ status: 200, body: '{"status":"ok"}' }));
    const { signal } = new AbortController();
    for (let i = 0; i < 3; i++) await client.health({ signal });
    await expect(client.graphql('{}', {}, { idempotencyKey: 'a\nb' })).rejects.toThrow('invalid');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
