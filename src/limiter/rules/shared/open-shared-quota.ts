/** A shared quota in Redis, for one run. The client is loaded only for it. */
import { hash, randomBytes } from 'node:crypto';
import { SharedQuota, type SharedQuotaOptions, type SharedQuotaTimers } from './shared-quota.ts';

interface SharedQuotaAddress extends Pick<SharedQuotaOptions, 'rpm' | 'windows' | 'podsAtLeast' | 'onStateChange'> {
  /** `redis://` or `rediss://`. */
  readonly uri: string;
  /** Pods with the same account share a quota: the service's origin and the API key. */
  readonly account: string;
  /** The job that this run works on. The next run of the same workload takes the place of a missing pod. */
  readonly workload: string;
}

const realTimers: SharedQuotaTimers = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Opens the shared quota. While the server cannot be reached, the pod goes on alone. A server that refuses the pod ends the run.
 * @throws ConfigError when the URI is invalid or waiting does not help, MillraceError 77 when the password is wrong
 */
export async function openSharedQuota({ uri, account, workload: place, ...options }: SharedQuotaAddress): Promise<SharedQuota> {
  const { RedisQuotaStore } = await import('./redis-store.ts');
  const store = new RedisQuotaStore(uri, account);
  try {
    await store.greet();
  } catch (error) {
    store.close();
    throw error;
  }
  return new SharedQuota({
    ...options,
    store,
    pod: `${hash('sha256', place, 'base64url').slice(0, 16)}.${randomBytes(8).toString('hex')}`,
    timers: realTimers,
  });
}
