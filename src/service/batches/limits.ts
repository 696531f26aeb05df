/** What a batch job, and all of them together, may take; named once. */

export const MAX_PART_BYTES = 64 * 1024 * 1024;
/** Parts are numbered from 1. */
export const MAX_PARTS = 10_000;
/** Of one line of the input, its end aside. */
export const MAX_LINE_BYTES = 64 * 1024;
export const MAX_LINES = 10_000_000;
export const MAX_CUSTOM_ID = 255;
/** Of `metadata` as JSON. */
export const MAX_METADATA_BYTES = 4_096;
export const MAX_CREDITS = 1_000_000_000;

/** Jobs that have not ended: of one key, and of all. */
export const MAX_UNFINISHED_PER_KEY = 100;
export const MAX_UNFINISHED = 1_000;
/** Jobs of one key that are kept, ended ones included. */
export const MAX_KEPT_PER_KEY = 10_000;
/** Parts and results on the disk: of all jobs, and of one key's. */
export const MAX_BYTES = 256 * 1024 ** 3;
export const MAX_BYTES_PER_KEY = 64 * 1024 ** 3;


/** How long a job may stay open, how long it may be paused, and how long one that has ended is kept, milliseconds. */
export const OPEN_MS = 24 * 3_600_000;
export const PAUSED_MS = 30 * 24 * 3_600_000;
export const KEPT_MS = 30 * 24 * 3_600_000;

/** Lines that are worked on together and noted together; a mailbox among them is charged once. */
export const ROUND_LINES = 1_000;
/** Bytes of input read for a round, and of results after which it ends. */
export const ROUND_BYTES = 256 * 1024;
export const ROUND_RESULT_BYTES = 4 * 1024 * 1024;
/** Rounds under way at once: while one waits for mail servers or the disk, others go on. So many thousand addresses are jobs' share of what is verified at once. */
export const MAX_ROUNDS = 8;
