/** A bucket of its own on the real server, and the environment that leads the SDK to it. */
import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { Facts } from '../services/needed.ts';

export interface TestBucket {
  readonly name: string;
  readonly client: S3Client;
  put(key: string, body: string | Buffer): Promise<void>;
}

/** What leads a process's SDK to a server: nothing of the machine's own settings counts. */
export function s3Environment(server: Facts, endpoint = server['endpoint'] ?? ''): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'owner',
    AWS_SECRET_ACCESS_KEY: server['owner'] ?? '',
    AWS_SESSION_TOKEN: '',
    AWS_PROFILE: '',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

/** A client without a retry of its own, as the product has. `user`: the owner of all buckets, or a stranger. */
export function clientOf(server: Facts, endpoint = server['endpoint'] ?? '', user: 'owner' | 'stranger' = 'owner'): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: user, secretAccessKey: server[user] ?? '' },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 1,
  });
}

export async function makeBucket(server: Facts): Promise<TestBucket> {
  const client = clientOf(server);
  const name = `test-${randomUUID()}`;
  await client.send(new CreateBucketCommand({ Bucket: name }));
  return {
    name,
    client,
    put: async (key, body) => {
      await client.send(new PutObjectCommand({ Bucket: name, Key: key, Body: body, ContentLength: Buffer.byteLength(body) }));
    },
  };
}
