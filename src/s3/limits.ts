/** What S3 takes as parts of an object (S3 User Guide, "Multipart upload limits"). Pure. */

/** It refuses smaller parts than this, but for the last, and ranges of objects that are not larger. */
export const SMALLEST_PART = 5 * 1024 * 1024;
/** And larger ones than this, of which a range is copied. */
export const LARGEST_PART = 5 * 1024 ** 3;
export const MOST_PARTS = 10_000;
