import { expect, it, onTestFinished } from 'vitest';
import { openSharedQuota } from '../../../../src/limiter/rules/shared/open-shared-quota.ts';
import { freePort } from '../../../services/free-port.ts';
import { describeWith } from '../../../services/needed.ts';
import { RedisServer } from '../../../services/redis.ts';

const PLACE = {
  account: 'https://api.example\nkey',
  rpm: 600,
  windows: [],
  workload: 'out.csv',
  podsAtLeast: 1,
  onStateChange: () => undefined,
};

await describeWith('redis', 'a shared quota is opened', () => {
  it('not at a server that wants another password: every pod would take the whole plan for ever', async () => {
    const server = await RedisServer.start(['--requirepass', 'right']);
    onTestFinished(() => server.end());
    const at = (userInfo: string): string => `redis://${userInfo}127.0.0.1:${server.port}/0`;
    for (const userInfo of ['', ':wrong@']) {
      await expect(openSharedQuota({ ...PLACE, uri: at(userInfo) })).rejects.toMatchObject({
        exitCode: 77,
        code: 'redis_credentials',
        message: expect.not.stringContaining('wrong@'),
      });
    }
    await (await openSharedQuota({ ...PLACE, uri: at(':right@') })).close();
  });

  it('at one that cannot be reached: it may be there in a moment', async () => {
    await (await openSharedQuota({ ...PLACE, uri: `redis://127.0.0.1:${await freePort()}/0` })).close();
  });
});
