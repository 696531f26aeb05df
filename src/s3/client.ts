/** The S3 client. Credentials, region, profile and endpoint come from the SDK's own chain and variables; Millrace adds none. */
import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { credentialsChain } from './credentials.ts';
import { inRegions } from './regions.ts';

const CONNECT_MS = 10_000;
const SOCKETS = 64;

let shared: Promise<S3Client> | null = null;

const nothing = (): void => undefined;
/** Silences the SDK, which warns on the console about streams that it cannot resend. `retry.ts` resends them. */
export const SILENT = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The client of this process. Its environment is the process's. */
export function s3Client(): Promise<S3Client> {
  return (shared ??= makeS3Client());
}

/**
 * Creates a client. Servers other than AWS are addressed as `endpoint/bucket/key`, as the AWS CLI does: few have a host name for each
 * bucket.
 */
export async function makeS3Client(): Promise<S3Client> {
  const client = new S3Client(settings());
  // Missing in the SDK's types, but the only way to see an endpoint that a profile configures.
  const { serviceConfiguredEndpoint } = client.config as { serviceConfiguredEndpoint?: () => Promise<string | undefined> };
  const endpoint = await serviceConfiguredEndpoint?.();
  return inRegions(
    (region) => new S3Client({ ...settings(), forcePathStyle: endpoint !== undefined, ...(region === undefined ? {} : { region }) }),
  );
}

function settings(): S3ClientConfig {
  // `proxyEnv` (Node 24.5) adds HTTPS_PROXY and NO_PROXY, which the SDK does not know.
  const agent: AgentOptions = { keepAlive: true, maxSockets: SOCKETS, proxyEnv: process.env };
  return {
    // `retry.ts` retries, because it knows how far a read has come.
    maxAttempts: 1,
    logger: SILENT,
    credentials: credentialsChain(SILENT),
    // Other servers refuse or corrupt what the newer defaults send (a trailing checksum), or answer without one.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, httpAgent: new HttpAgent(agent), httpsAgent: new HttpsAgent(agent) },
  };
}
