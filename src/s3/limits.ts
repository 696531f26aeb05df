/** Limits of multipart uploads (S3 User Guide, "Multipart upload limits"). Pure. */

/** The smallest part in bytes, except for the last part. A range can be copied only from a larger object. */
export const SMALLEST_PART = 5 * 1024 * 1024;
/** The largest part in bytes, also when it is copied. */
export const LARGEST_PART = 5 * 1024 ** 3;
export const MOST_PARTS = 10_000;
