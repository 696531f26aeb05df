/** Objects in S3 as a source. */
import { matchesGlob } from 'node:path';
import { s3Client } from '../s3/client.ts';
import { faultOf, inputError } from '../s3/failure.ts';
import { headObject, listObjects, type ObjectFacts, type S3Access } from '../s3/objects.ts';
import { RETRY_POLICY } from '../s3/retry.ts';
import { readObject } from '../s3/read-object.ts';
import { parseS3Uri, s3Uri, type S3Location } from '../s3/uri.ts';
import { InputError } from '../util/errors.ts';
import { formatOfName, GLOB, isPassedOver } from './file-names.ts';
import type { Found, Source, SourceFile } from './source.ts';

/** A source on the S3 that the environment configures. */
export async function s3Source(): Promise<Source> {
  return sourceOn({ client: await s3Client(), retryPolicy: RETRY_POLICY });
}

/** A source on the given client. Its errors are MillraceErrors that name the uri. */
export function sourceOn(access: S3Access): Source {
  return {
    async find(uri, mayLack, { signal }) {
      const place = placeOf(uri);
      const { bucket, key } = place;
      try {
        if (GLOB.test(key)) return matching(await allKeys(access, bucket, key.slice(0, key.search(GLOB)), signal), uri, place);
        if (key !== '' && !key.endsWith('/') && (await headOrNull(access, place, signal)) !== null)
          return { named: true, files: [fileAt(bucket, key)] };
        const prefix = key === '' || key.endsWith('/') ? key : `${key}/`;
        const keys = await allKeys(access, bucket, prefix, signal);
        // S3 has no folders, so an empty prefix does not exist.
        if (keys.length === 0 && !mayLack) throw nothingThere(uri);
        return {
          named: false,
          files: keys.filter((one) => formatOfName(one) !== null && !isPassedOver(one, prefix)).map((one) => fileAt(bucket, one)),
        };
      } catch (error) {
        throw signal?.aborted === true ? signal.reason : inputError(error, uri);
      }
    },
    async identify({ path, uri }, { signal }) {
      try {
        const { size, etag } = await headObject(access, placeOf(path), signal);
        return { size, digest: etag };
      } catch (error) {
        throw signal?.aborted === true ? signal.reason : inputError(error, uri);
      }
    },
    async *readRange({ path, uri, digest }, range, options) {
      try {
        yield* readObject(access, { ...placeOf(path), etag: digest }, range, options);
      } catch (error) {
        throw options.signal?.aborted === true ? options.signal.reason : inputError(error, uri);
      }
    },
  };
}

function fileAt(bucket: string, key: string): SourceFile {
  return { uri: s3Uri(bucket, key), path: s3Uri(bucket, key) };
}

/** An object whose real name contains glob characters is that object, not a glob. */
function matching(keys: readonly string[], uri: string, { bucket, key }: S3Location): Found {
  if (keys.includes(key)) return { named: true, files: [{ uri, path: uri }] };
  // A key that ends in a slash is a folder marker of some tools, not a file.
  const files = keys.filter((one) => !one.endsWith('/') && matchesGlob(one, key) && !isPassedOver(one, key));
  return { named: false, files: files.map((one) => fileAt(bucket, one)) };
}

async function allKeys(access: S3Access, bucket: string, prefix: string, signal: AbortSignal | undefined): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listObjects(access, bucket, prefix, signal)) keys.push(...page.map(({ key }) => key));
  return keys;
}

async function headOrNull(access: S3Access, place: S3Location, signal: AbortSignal | undefined): Promise<ObjectFacts | null> {
  try {
    return await headObject(access, place, signal);
  } catch (error) {
    if (faultOf(error) === 'no_object') return null;
    throw error;
  }
}

function nothingThere(uri: string): InputError {
  return new InputError('input_missing', `There is no input ${uri}: no object has that name, and none lies below it.`, {
    hint: 'Check --input, or set input.ifMissing to succeed. For all names that begin alike, write a glob such as s3://bucket/2026-*.',
  });
}

/** @throws InputError when the uri names no bucket */
function placeOf(uri: string): S3Location {
  const place = parseS3Uri(uri);
  if (place !== null) return place;
  throw new InputError('input_missing', `The input ${uri} names no bucket.`, {
    hint: 'Write s3://bucket/key, s3://bucket/prefix/ or a glob.',
  });
}
