/** A shared quota in Redis, for one run. The client is loaded only for it. */
import { hash, randomBytes } from 'node:crypto';
import { SharedQuota, type SharedQuotaOptions, type Timers } from './shared-quota.ts';

export interface SharedQuotaPlace extends Pick<SharedQuotaOptions, 'rpm' | 'podsAtLeast' | 'onStanding'> {
  /** `redis://` or `rediss://`. */
  readonly uri: string;
  /** Pods share what has the same account: the service's origin and the API key. */
  readonly account: string;
  /** What this run runs: the next run of the same takes the place of one that is missing. */
  readonly place: string;
}

const realTimers: Timers = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * A server that cannot be reached is waited for by going alone; one that refuses us would refuse us for ever.
 * @throws ConfigError when the URI is none or waiting would not mend what is wrong, MillraceError 77 when its password is not right
 */
export async function openSharedQuota({ uri, account, place, ...options }: SharedQuotaPlace): Promise<SharedQuota> {
  const { RedisQuotaStore } = await import('./redis-store.ts');
  const store = new RedisQuotaStore(uri, account);
  try {
    await store.greet();
  } catch (error) {
    store.close();
    throw error;
  }
  return new SharedQuota({ ...options, store, pod: `${hash('sha256', place, 'base64url').slice(0, 16)}.${randomBytes(8).toString('hex')}`, timers: realTimers });
}
