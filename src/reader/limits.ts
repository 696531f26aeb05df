/** Every bound of the reader, named once. Input is hostile until read: nothing here may grow with the file. */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bytes asked of a source at a time. One chunk more is read ahead.
 * Larger chunks read no faster (4 times: 10 %) and keep more young objects alive (4 times: 60 MB).
 */
export const CHUNK_BYTES = 64 * KIB;

/** A quote still open after so many bytes is not a quote: its line is a bad row. */
export const MAX_QUOTED_BYTES = MIB;

/** A record (a line, or quoted lines together) longer than this is a bad row and is not held in memory. */
export const MAX_RECORD_BYTES = 4 * MIB;

/** How much of a bad row is kept to show. */
export const MAX_RAW_CHARS = 4 * KIB;

/** Columns of the whole input. More is a file of another kind, or an attack. */
export const MAX_COLUMNS = 10_000;

/** Records handed over at once: those of a few milliseconds of work, so that most are written before the collector meets them. */
export const BATCH_RECORDS = 128;

/** The cells in them: a short row in a wide file costs its width. */
export const MAX_BATCH_CELLS = 1 << 20;

/** What is looked at to tell what a file is. */
export const SAMPLE_BYTES = 256 * KIB;

/** JSONL objects looked at to find the key columns. */
export const SAMPLE_OBJECTS = 200;

/** Files looked at side by side: thousands of objects in S3 would otherwise take their latencies one after the other. */
export const FILES_AT_ONCE = 16;

/** Hashed at each end of a file to notice a change. */
export const DIGEST_BYTES = 64 * KIB;

/** A gzip header's optional parts (extra field, name, comment) together. */
export const MAX_GZIP_HEADER_BYTES = 256 * KIB;

/** Column names shown in an error. */
export const MAX_NAMES_SHOWN = 20;
