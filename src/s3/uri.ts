/** `s3://bucket/key`. Pure. It does not load the SDK, because callers often only test whether a text is such a URI. */

export interface S3Location {
  readonly bucket: string;
  /** Unescaped, because S3 has no escapes in names. Empty for the whole bucket. */
  readonly key: string;
}

const S3_URI = /^s3:\/\/([^/]+)(?:\/(.*))?$/s;
/** Names of general purpose buckets (S3 User Guide, "Bucket naming rules"), slightly widened for other servers. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$/;

export function isS3Uri(uri: string): boolean {
  return uri.startsWith('s3://');
}

/** Null when the uri names no bucket. */
export function parseS3Uri(uri: string): S3Location | null {
  const [, bucket = '', key = ''] = S3_URI.exec(uri) ?? [];
  return BUCKET.test(bucket) ? { bucket, key } : null;
}

export function s3Uri(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}
