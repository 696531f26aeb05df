/** Requests go to the region of their bucket, whatever the region of the environment: S3 tells it to whoever asks elsewhere. */
import type { S3Client } from '@aws-sdk/client-s3';
import { withCredentials } from './credentials.ts';
import { regionToldBy } from './failure.ts';

/** It becomes part of a host's name. */
const REGION = /^[a-z0-9-]{1,63}$/;

interface Command {
  readonly input: { readonly Bucket?: string };
}

/** Of whichever command: each keeps its own type for those who call the client. */
type Sender = (command: Command, ...more: readonly unknown[]) => Promise<unknown>;

function senderOf(client: S3Client): Sender {
  return (...request) => withCredentials(client, () => (client.send as Sender).apply(client, request));
}

/**
 * A client that sends a request again where S3 says its bucket lies, and the bucket's later ones there at once.
 * The SDK's `followRegionRedirects` sends every request to the wrong region first; it sends a stream again that has been
 * read; and while one goes elsewhere, all others of the client do.
 * @param make a client for that region; none: the environment's
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
      // Told once for each bucket, or a server could send a request round for ever.
      if (!regions.has(Bucket)) regions.set(Bucket, told);
      return clientFor(regions.get(Bucket) ?? told)(command, ...more);
    }
  };
  return new Proxy(here, { get: (client, name): unknown => (name === 'send' ? send : Reflect.get(client, name, client)) });
}

/** Null: that was not what it failed of. An answer to HEAD says it by its status alone. */
async function otherRegion(client: S3Client, error: unknown): Promise<string | null> {
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  if (![301, 400].includes($metadata?.httpStatusCode ?? 0)) return null;
  const told = regionToldBy(error);
  return told === undefined || !REGION.test(told) || told === (await client.config.region()) ? null : told;
}
