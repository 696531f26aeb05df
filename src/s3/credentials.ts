/** Credentials that may change while a run goes on: those that S3 refuses are looked for again where they came from. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { S3Client } from '@aws-sdk/client-s3';
import { faultOf } from './failure.ts';

type Provider = S3Client['config']['credentials'];
type Credentials = Awaited<ReturnType<Provider>>;

/** Waits between two looks, in milliseconds: a file may be empty, half written or gone for a moment, a container's endpoint too. */
const LOOK_AGAIN_MS = [50, 100, 200, 400, 800];
/** A source that gives other credentials each time may give none that S3 takes. */
const MOST_RENEWALS = 3;

const renewals = new WeakMap<S3Client, Promise<boolean>>();
/** What was looked for in vain: a run that ends has more requests to make, and none of them waits again. */
const refused = new WeakMap<S3Client, Credentials>();

/**
 * The SDK's default chain. `ignoreCache`: the SDK reads its files once for a process; this way it reads them again
 * whenever it is asked to look again (documented with `fromNodeProviderChain`).
 */
export function credentialsChain(logger: S3Client['config']['logger']): ReturnType<typeof defaultProvider> {
  return defaultProvider({ logger, ignoreCache: true });
}

/** Sends a request; and again, with other credentials, when S3 refused those that it carried and others are there by then. @throws as `send` */
export async function withCredentials<T>(client: S3Client, send: () => Promise<T>): Promise<T> {
  for (let renewed = 0; ; renewed++) {
    const used = await client.config.credentials().catch(() => null);
    try {
      return await send();
    } catch (error) {
      // Where there were none at all, none will come.
      if (used === null || renewed >= MOST_RENEWALS || faultOf(error) !== 'credentials' || !(await areOthers(client, used))) throw error;
    }
  }
}

/** Whether the client has other credentials by now. One look for all requests that were refused at that time. */
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
    // The way past the SDK's memory that it has for this (`memoize() supports force refresh`).
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
