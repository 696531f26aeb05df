/** What requests take of a key's calls, credits and quota, and what is given back. */
import { describe, expect, it } from 'vitest';
import { listKeys } from '../../src/service/keys.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { makeKey, makeStore, serveStore } from './harness.ts';

/** As the store has it. */
function callsUsed(store: string): number[] {
  const open = openStore(store);
  try {
    return listKeys(open).map((key) => key.callsUsed);
  } finally {
    open.close();
  }
}

function useUp(store: string, callsLeft: number): void {
  const open = openStore(store);
  open.exec(`UPDATE keys SET calls_used = ${1_000 - callsLeft}`);
  open.close();
}

const bulk = (count: number): unknown => ({ requests: Array.from({ length: count }, () => ({ params: { id: 'pe_1', fields: ['name'] } })) });

describe('calls of a trial', () => {
  it('each enrichment of a bulk is one, and more than are left are refused as a whole', async () => {
    const store = await makeStore();
    const key = await makeKey(store, 'trial');
    useUp(store, 12);
    const service = await serveStore({ store });
    expect((await service.post('/v1/enrich/bulk', bulk(10), { key })).status).toBe(200);
    expect(callsUsed(store)).toEqual([998]);
    const refused = await service.post('/v1/enrich/bulk', bulk(3), { key });
    expect([refused.status, refused.json['code']]).toEqual([402, 'insufficient_credits']);
    expect((await service.post('/v1/enrich/bulk', bulk(2), { key })).status).toBe(200);
    expect(callsUsed(store)).toEqual([1_000]);
  });
});
