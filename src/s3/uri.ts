/** `s3://bucket/key`. Pure, and without the SDK: what only asks whether a name is one must not load it. */

export interface S3Place {
  readonly bucket: string;
  /** May be empty: the whole bucket. As it stands: S3 knows no escapes in names. */
  readonly key: string;
}

const S3_URI = /^s3:\/\/([^/]+)(?:\/(.*))?$/s;
/** General purpose buckets (S3 User Guide, "Bucket naming rules"), a little wider for other servers. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$/;

export function isS3Uri(uri: string): boolean {
  return uri.startsWith('s3://');
}

/** Null when it names no bucket. */
export function parseS3Uri(uri: string): S3Place | null {
  const [, bucket = '', key = ''] = S3_URI.exec(uri) ?? [];
  return BUCKET.test(bucket) ? { bucket, key } : null;
}

export function s3Uri(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}
