/** Limits of one batch job, of a key and of all jobs. */

export const MAX_PART_BYTES = 64 * 1024 * 1024;
/** Parts are numbered from 1. */
export const MAX_PARTS = 10_000;
/** Bytes of one input line, without its line end. */
export const MAX_LINE_BYTES = 64 * 1024;
export const MAX_LINES = 10_000_000;
export const MAX_CUSTOM_ID = 255;
/** Bytes of `metadata` as JSON. */
export const MAX_METADATA_BYTES = 4_096;
export const MAX_CREDITS = 1_000_000_000;

/** Jobs that have not ended: of one key, and of all keys. */
export const MAX_UNFINISHED_PER_KEY = 100;
export const MAX_UNFINISHED = 1_000;
/** Stored jobs of one key, including ended ones. */
export const MAX_STORED_PER_KEY = 10_000;
/** Bytes of parts and results on the disk: of all keys, and of one key. */
export const MAX_BYTES = 256 * 1024 ** 3;
export const MAX_BYTES_PER_KEY = 64 * 1024 ** 3;

/** How long a job may stay open, how long it may be paused, and how long it is stored after its end, milliseconds. */
export const OPEN_MS = 24 * 3_600_000;
export const PAUSED_MS = 30 * 24 * 3_600_000;
export const RETENTION_MS = 30 * 24 * 3_600_000;

/** Lines of a chunk. They are executed and committed together; a mailbox that occurs twice in a chunk is charged once. */
export const CHUNK_LINES = 1_000;
/** Bytes of input that one chunk reads, and bytes of results after which it ends. */
export const CHUNK_INPUT_BYTES = 256 * 1024;
export const CHUNK_RESULT_BYTES = 4 * 1024 * 1024;
/** Concurrent chunks: while one waits for mail servers or the disk, others run. It bounds the addresses that jobs verify at once. */
export const MAX_CHUNKS = 8;
