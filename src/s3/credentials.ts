/** Credentials that may change during a run: after S3 refuses them, they are read again from their source. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { S3Client } from '@aws-sdk/client-s3';
import { faultOf } from './failure.ts';

type Provider = S3Client['config']['credentials'];
type Credentials = Awaited<ReturnType<Provider>>;

/**
 * Milliseconds between attempts to read new credentials. A file may be empty, half written or missing for a moment, and so may a
 * container's endpoint.
 */
const LOOK_AGAIN_MS = [50, 100, 200, 400, 800];
/** Limit for a source that returns other credentials each time, none of them valid. */
const MOST_RENEWALS = 3;

const renewals = new WeakMap<S3Client, Promise<boolean>>();
/** Credentials that were refused and did not change. Further requests of an ending run do not wait for new ones. */
const refused = new WeakMap<S3Client, Credentials>();

/**
 * The SDK's default chain. `ignoreCache` makes it read its files again at each renewal instead of once a process (documented with
 * `fromNodeProviderChain`).
 */
export function credentialsChain(logger: S3Client['config']['logger']): ReturnType<typeof defaultProvider> {
  return defaultProvider({ logger, ignoreCache: true });
}

/**
 * Sends a request. It is sent again with new credentials when S3 refused the old ones and the source has others by then. @throws as `send`
 */
export async function withCredentials<T>(client: S3Client, send: () => Promise<T>): Promise<T> {
  for (let renewed = 0; ; renewed++) {
    const used = await client.config.credentials().catch(() => null);
    try {
      return await send();
    } catch (error) {
      // A client without any credentials gets none later.
      if (used === null || renewed >= MOST_RENEWALS || faultOf(error) !== 'credentials' || !(await areOthers(client, used))) throw error;
    }
  }
}

/** True when the client has other credentials now. Requests that were refused at the same time share one renewal. */
async function areOthers(client: S3Client, used: Credentials): Promise<boolean> {
  if (!isSame(await client.config.credentials().catch(() => used), used)) return true;
  let renewal = renewals.get(client);
  if (renewal === undefined) renewals.set(client, (renewal = look(client, used).finally(() => renewals.delete(client))));
  return renewal;
}

async function look(client: S3Client, used: Credentials): Promise<boolean> {
  const before = refused.get(client);
  const waits = before !== undefined && isSame(before, used) ? [] : LOOK_AGAIN_MS;
  for (let looks = 0; ; looks++) {
    // `forceRefresh` bypasses the SDK's cache; the SDK offers it for this (`memoize() supports force refresh`).
    const found = await client.config.credentials({ forceRefresh: true }).catch(() => used);
    if (!isSame(found, used)) return true;
    const waitMs = waits[looks];
    if (waitMs === undefined) {
      refused.set(client, used);
      return false;
    }
    await sleep(waitMs);
  }
}

function isSame(one: Credentials, other: Credentials): boolean {
  return one.accessKeyId === other.accessKeyId && one.secretAccessKey === other.secretAccessKey && one.sessionToken === other.sessionToken;
}
