/** As which pod a run shares a quota. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { sharedQuotaOf } from '../../src/job/shared-quota.ts';
import { placeOf } from '../../src/limiter/shared/messages.ts';
import { CHECKPOINT } from '../checkpoint/samples.ts';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { compiled, LEAST } from './definition/support.ts';

vi.mock('node:os', async (original) => ({ ...(await original<object>()), hostname: vi.fn(() => 'first') }));

const SHARD = { index: 0, of: 4, from: null, before: 0, records: 0 };

await describeWith('redis', 'a run that shares a quota', (facts) => {
  test('is known again where it is resumed on another host and in another folder, and is taken for no other run and no other shard', async () => {
    const uri = await freeDatabase(facts);
    const client = new Redis(uri);
    onTestFinished(() => client.disconnect());
    await once(client, 'ready');
    const apiKey = randomUUID();
    const placeAs = async (checkpoint: Partial<typeof CHECKPOINT>, at = hostname(), folder = 'one'): Promise<string> => {
      vi.mocked(hostname).mockReturnValue(at);
      const job = compiled({ flags: { ...LEAST, output: `/${folder}/out.csv`, plan: 'null', rpm: '600', 'service.quota': uri } });
      const shared = Promise.withResolvers<void>();
      const quota = await sharedQuotaOf(job, { apiKey: new RotatingKey(apiKey) }, { info: () => shared.resolve(), warn: (_event, why) => shared.reject(new Error(why)) }, { ...CHECKPOINT, ...checkpoint });
      quota?.start(() => 0, () => undefined);
      await shared.promise;
      const [pods = ''] = await client.keys('millrace:quota:*:pods');
      const [pod = '', ...others] = await client.hkeys(pods);
      expect(others).toEqual([]);
      await quota?.close();
      return placeOf(pod);
    };
    const place = await placeAs({ run: 'r', shard: null });
    expect(place).not.toBe('');
    expect(await placeAs({ run: 'r', shard: null }, 'second', 'two')).toBe(place);
    expect(await placeAs({ run: 's', shard: null })).not.toBe(place);
    expect(await placeAs({ run: 'r', shard: { ...SHARD, index: 1 } })).not.toBe(await placeAs({ run: 'r', shard: { ...SHARD, index: 2 } }));
  });
});
