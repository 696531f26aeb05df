/** Every limit of the reader, in one place. Input may be hostile: no memory here may grow with the file. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Bytes per read; one more chunk is read ahead. Chunks of 4 times the size read 10 % slower and keep 60 MB more of young objects alive. */
export const CHUNK_BYTES = 64 * KIB;

/** A quote that is still open after this many bytes is not a quote: its line is a bad row. */
export const MAX_QUOTED_BYTES = MIB;

/** Bytes. A longer record (a line, or several lines within quotes) is a bad row and is not held in memory. */
export const MAX_RECORD_BYTES = 4 * MIB;

/** How many bytes of a bad row are stored for display. */
export const MAX_RAW_CHARS = 4 * KIB;

/** Columns of the whole input. A file with more is of another kind, or an attack. */
export const MAX_COLUMNS = 10_000;

/** Records per batch: a few milliseconds of work, so that most are written before the garbage collector meets them. */
export const BATCH_RECORDS = 128;

/** Cells per batch. A short row in a wide file costs its width. */
export const MAX_BATCH_CELLS = 1 << 20;

/** Bytes of a file from which its type is detected. */
export const SAMPLE_BYTES = 256 * KIB;

/** JSONL objects from which the key columns are detected. */
export const SAMPLE_OBJECTS = 200;

/** Rows of a table without a header from which the key columns are detected. */
export const SAMPLE_ROWS = 50;

/** Files inspected in parallel. Otherwise the latencies of thousands of S3 objects would add up. */
export const FILES_AT_ONCE = 16;

/** Bytes of a gzip header's optional parts (extra field, name, comment) together. */
export const MAX_GZIP_HEADER_BYTES = 256 * KIB;

/** Column names shown in an error. */
export const MAX_NAMES_SHOWN = 20;

/** Parquet: bytes of a footer. It holds a place for each column of each row group, and is read at once. */
export const MAX_FOOTER_BYTES = 16 * MIB;

/** Parquet: bytes of a page, compressed or not. Writers make pages of about 1 MiB. */
export const MAX_PAGE_BYTES = 64 * MIB;

/** Parquet: values of a page. A few bytes can state billions. */
export const MAX_PAGE_VALUES = 1 << 22;

/** Parquet: bytes and values of all columns that are held at once, in bytes. */
export const MAX_HELD_BYTES = 384 * MIB;

/** Parquet: levels of nested columns. */
export const MAX_SCHEMA_DEPTH = 32;

/** Parquet: a row group up to this size is read at once. The columns of a larger one are read in blocks. */
export const GROUP_AT_ONCE_BYTES = 8 * MIB;

/** Parquet: bytes of all columns' blocks together, and of one block. */
export const BLOCKS_BYTES = 8 * MIB;
export const MAX_BLOCK_BYTES = MIB;
