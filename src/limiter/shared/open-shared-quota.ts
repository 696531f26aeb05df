/** A shared quota in Redis, for one run. The client is loaded only for it. */
import { randomBytes } from 'node:crypto';
import { SharedQuota, type SharedQuotaOptions, type Timers } from './shared-quota.ts';

export interface SharedQuotaPlace extends Pick<SharedQuotaOptions, 'rpm' | 'podsAtLeast' | 'onStanding'> {
  /** `redis://` or `rediss://`. */
  readonly uri: string;
  /** Pods share what has the same account: the service's origin and the API key. */
  readonly account: string;
}

const realTimers: Timers = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** @throws ConfigError when the URI is none */
export async function openSharedQuota({ uri, account, ...options }: SharedQuotaPlace): Promise<SharedQuota> {
  const { RedisQuotaStore } = await import('./redis-store.ts');
  return new SharedQuota({ ...options, store: new RedisQuotaStore(uri, account), pod: randomBytes(8).toString('hex'), timers: realTimers });
}
