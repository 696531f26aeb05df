import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { faultSequence } from '../../../src/service/calls/fault-injection.ts';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeKey, makeStore, serveStore, type Served } from '../harness.ts';

describe('fault injection', () => {
  it('draws the same faults for the same seed, and others for another', () => {
    const draw = (seed: number): unknown[] => {
      const next = faultSequence({ errorRate: 0.2, throttleRate: 0.2, dropRate: 0.2, hangRate: 0.2, latencyJitterMs: 10, seed });
      return Array.from({ length: 100 }, () => next?.());
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  it('draws each fault at its rate', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.constantFrom('errorRate', 'throttleRate', 'dropRate', 'hangRate'),
        fc.double({ min: 0.05, max: 0.95, noNaN: true }),
        (seed, rate, share) => {
          const next = faultSequence({ [rate]: share, seed });
          const struck = Array.from({ length: 4_000 }, () => next?.().kind).filter((kind) => kind !== 'none').length / 4_000;
          expect(Math.abs(struck - share)).toBeLessThan(0.06);
        },
      ),
      { numRuns: 50, seed: 7 },
    );
  });

  it('draws nothing when no fault is asked for', () => {
    expect(faultSequence({ seed: 5 })).toBeNull();
  });
});

describe('a service with faults', () => {
  it('fails and throttles with documented answers', async () => {
    const failing = await serveStore({ faults: { errorRate: 1 } });
    expect((await failing.post('/v1/enrich', { id: 'pe_1' })).json).toMatchObject({ status: 500, code: 'internal_error', retryable: true });
    const throttling = await serveStore({ faults: { throttleRate: 1 } });
    const reply = await throttling.post('/v1/enrich', { id: 'pe_1' });
    expect([reply.status, reply.headers.get('retry-after'), reply.headers.get('x-credits-charged')]).toEqual([429, '1', '0']);
    expect((await throttling.request('/healthz')).status).toBe(200);
  });

  it('cuts connections before the work and after it, and charges a repeated request once', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'growth', { credits: 5 });
    const service = await serveStore({ store, faults: { dropRate: 1, seed: 11 } });
    const draw = faultSequence({ dropRate: 1, seed: 11 });
    const expected = Array.from({ length: 12 }, () => draw?.().kind);
    expect(new Set(expected)).toEqual(new Set(['drop_before', 'drop_after']));
    for (const _ of expected)
      await expect(service.post('/v1/enrich', { id: 'pe_1' }, { key, headers: { 'idempotency-key': 'k' } })).rejects.toThrow();
    await service.close();
    const open = openStore(store);
    // The work is done and paid for once, although no answer arrived.
    expect(listKeys(open)).toMatchObject([{ creditsUsed: 1, callsUsed: 1 }]);
    open.close();
  });

  it('leaves a request without an answer, and closes without waiting for it', async () => {
    const service = await serveStore({ faults: { hangRate: 1 } });
    const { arrived, answer } = send(service);
    await arrived;
    await service.close();
    await expect(answer).rejects.toThrow();
  });

  it('answers requests in flight before it closes', async () => {
    const entries: Record<string, unknown>[] = [];
    const service = await serveStore({
      faults: { latencyMs: 50 },
      log: {
        write: (_level, entry) => entries.push(entry),
        line: (text) => entries.push(JSON.parse(text) as Record<string, unknown>),
        takes: () => true,
      },
    });
    const { arrived, answer } = send(service);
    await arrived;
    await service.close();
    const reply = await answer;
    expect([reply.statusCode, reply.headers.connection]).toEqual([200, 'close']);
    expect(entries).toContainEqual(
      expect.objectContaining({ event: 'request', route: 'POST /v1/enrich', method: 'POST', status: 200, credits: 1, bytes_in: 33 }),
    );
    expect(JSON.stringify(entries)).not.toContain('acme');
  });
});

/** A request that tells when the service has begun with it: the service says `100 Continue` then. */
function send(service: Served): { arrived: Promise<unknown>; answer: Promise<IncomingMessage> } {
  const body = '{"email":"jane.doe@acme.example"}';
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'content-length': body.length,
    expect: '100-continue',
  };
  const sent = request(`${service.url}/v1/enrich`, { method: 'POST', headers, agent: new Agent({ keepAlive: true }) });
  const arrived = once(sent, 'continue').then(() => sent.end(body));
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', (response) => {
      response.resume().on('end', () => resolve(response));
    });
    sent.on('error', reject);
  });
  // It may fail before the test awaits it.
  answer.catch(() => undefined);
  sent.flushHeaders();
  return { arrived, answer };
}
