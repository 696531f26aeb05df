/** A bucket of its own on the real server, and the environment that points the SDK at it. */
import { randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { SILENT } from '../../src/s3/client.ts';
import type { Facts } from '../services/needed.ts';

export interface TestBucket {
  readonly name: string;
  readonly client: S3Client;
  put(key: string, body: string | Buffer): Promise<void>;
  /** Null when the object does not exist. */
  get(key: string): Promise<Buffer | null>;
  /** All keys with this prefix. */
  names(prefix?: string): Promise<string[]>;
  /** Keys of the multipart uploads that have not ended. */
  uploads(): Promise<string[]>;
}

/** The environment that points a process's SDK at a server. No setting of the machine applies. */
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

/** A client without retries of its own, as in the product. `user`: the owner of all buckets, or a stranger. */
export function clientOf(server: Facts, endpoint = server['endpoint'] ?? '', user: 'owner' | 'stranger' = 'owner'): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: user, secretAccessKey: server[user] ?? '' },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 1,
    logger: SILENT,
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
    get: async (key) => {
      const answer = await client.send(new GetObjectCommand({ Bucket: name, Key: key })).catch(nullIfMissing);
      return answer === null ? null : Buffer.from((await answer.Body?.transformToByteArray()) ?? []);
    },
    names: async (prefix = '') => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name, Prefix: prefix }));
      return Contents.map(({ Key = '' }) => Key);
    },
    uploads: async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }));
      return Uploads.map(({ Key = '' }) => Key);
    },
  };
}

function nullIfMissing(error: unknown): null {
  if ((error as Error).name === 'NoSuchKey') return null;
  throw error;
}
