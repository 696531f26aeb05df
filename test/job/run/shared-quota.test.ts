/** The pod identity under which a run shares a quota. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import { openRunQuota } from '../../../src/job/run/shared-quota.ts';
import { workloadOf } from '../../limiter/rules/shared/memory-store.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { freeDatabase } from '../../ledger/shared.ts';
import { describeWith } from '../../services/needed.ts';
import { compiled, LEAST } from '../../definition/support.ts';

vi.mock('node:os', async (original) => ({ ...(await original<object>()), hostname: vi.fn(() => 'first') }));

const SHARD = { index: 0, of: 4, from: null, before: 0, records: 0 };

await describeWith('redis', 'a run that shares a quota', (facts) => {
  test('a run keeps its quota identity on another host and in another folder, and never shares that of another run or shard', async () => {
    const uri = await freeDatabase(facts);
    const client = new Redis(uri);
    onTestFinished(() => client.disconnect());
    await once(client, 'ready');
    const apiKey = randomUUID();
    const identityAs = async (checkpoint: Partial<typeof CHECKPOINT>, at = hostname(), folder = 'one'): Promise<string> => {
      vi.mocked(hostname).mockReturnValue(at);
      const job = compiled({ flags: { ...LEAST, output: `/${folder}/out.csv`, plan: 'null', rpm: '600', 'service.quota': uri } });
      const shared = Promise.withResolvers<void>();
      const [provider] = job.providers;
      if (provider === undefined) throw new Error('a job has a provider');
      const quota = await openRunQuota(
        { provider, access: { apiKey: new RotatingKey(apiKey) }, pace: { rpm: 600, windows: [] }, channel: '' },
        { info: () => shared.resolve(), warn: (_event, why) => shared.reject(new Error(why)) },
        { ...CHECKPOINT, ...checkpoint },
      );
      quota?.start({ waiting: () => 0, onPermits: () => undefined });
      await shared.promise;
      const [pods = ''] = await client.keys('millrace:quota:*:pods');
      const [pod = '', ...others] = await client.hkeys(pods);
      expect(others).toEqual([]);
      await quota?.close();
      return workloadOf(pod);
    };
    const identity = await identityAs({ run: 'r', shard: null });
    expect(identity).not.toBe('');
    expect(await identityAs({ run: 'r', shard: null }, 'second', 'two')).toBe(identity);
    expect(await identityAs({ run: 's', shard: null })).not.toBe(identity);
    expect(await identityAs({ run: 'r', shard: { ...SHARD, index: 1 } })).not.toBe(
      await identityAs({ run: 'r', shard: { ...SHARD, index: 2 } }),
    );
  });
});
