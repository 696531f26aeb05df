/** Sends each request to the region of its bucket. S3 names that region when a request reaches another one. */
import type { S3Client } from '@aws-sdk/client-s3';
import { withCredentials } from './credentials.ts';
import { regionIn } from './failure.ts';

/** Only such names become part of a host name. */
const REGION = /^[a-z0-9-]{1,63}$/;

interface Command {
  readonly input: { readonly Bucket?: string };
}

/** Any command: typing each is left to the callers of the client. */
type Sender = (command: Command, ...more: readonly unknown[]) => Promise<unknown>;

function senderOf(client: S3Client): Sender {
  return (...request) => withCredentials(client, () => (client.send as Sender).apply(client, request));
}

/**
 * A client that resends a request to the region that S3 names, and remembers it for the bucket's next requests.
 * The SDK's `followRegionRedirects` is unsuitable: it sends every request to the wrong region first, resends streams that were already
 * read, and redirects all other requests of the client meanwhile.
 * @param make creates a client for a region; without one, for the environment's region
 */
export function inRegions(make: (region?: string) => S3Client): S3Client {
  const regions = new Map<string, string>();
  const clients = new Map<string, Sender>();
  const here = make();
  const sendHere = senderOf(here);
  const clientFor = (region: string): Sender => {
    const client = clients.get(region) ?? senderOf(make(region));
    clients.set(region, client);
    return client;
  };
  const send = async (command: Command, ...more: readonly unknown[]): Promise<unknown> => {
    const { Bucket = '' } = command.input;
    const known = regions.get(Bucket);
    if (known !== undefined) return clientFor(known)(command, ...more);
    try {
      return await sendHere(command, ...more);
    } catch (error) {
      const told = await otherRegion(here, error);
      if (told === null) throw error;
      // One redirect for each bucket. Otherwise a server could redirect a request for ever.
      if (!regions.has(Bucket)) regions.set(Bucket, told);
      return clientFor(regions.get(Bucket) ?? told)(command, ...more);
    }
  };
  return new Proxy(here, { get: (client, name): unknown => (name === 'send' ? send : Reflect.get(client, name, client)) });
}

/** The region of the bucket; null when the failure has another cause. An answer to HEAD tells a wrong region by its status alone. */
async function otherRegion(client: S3Client, error: unknown): Promise<string | null> {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  if (![301, 400].includes($metadata?.httpStatusCode ?? 0)) return null;
  const told = regionIn(error);
  return told === undefined || !REGION.test(told) || told === (await client.config.region()) ? null : told;
}
