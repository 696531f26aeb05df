/** How the schema declares a key: its zod type, notes and description. */
import { z } from 'zod';

/** Facts about a key that zod does not hold. */
interface KeyNotes {
  /** Completes "must be ...". */
  readonly expected: string;
  /** The separator by which one text (a flag, a variable) becomes several values. */
  readonly split?: ',' | '\n';
  /** Whether an entry of a map may be JSON in a flag or a variable. */
  readonly hasJsonEntries?: boolean;
}

/** The notes of each key, by its schema. */
export const keyNotes = z.registry<KeyNotes>();

/** Bounds, named once. Times in milliseconds. */
export const BOUNDS = {
  name: 100,
  uri: 4096,
  uris: 10_000,
  column: 200,
  fields: 1000,
  rpm: 10_000_000,
  concurrency: 1024,
  timeoutMs: [100, 600_000],
  everyMs: [50, 600_000],
  windowLimit: 999_999_999,
  waitMs: 7 * 24 * 3_600_000,
  ageDays: 3650,
  skipLines: 1000,
} as const;

/** A key of the schema with its description. @param notes or only the text that completes "must be ..." */
export function key<T extends z.ZodType>(schema: T, notes: KeyNotes | string, description: string): T {
  const described = schema.describe(description);
  keyNotes.add(described, typeof notes === 'string' ? { expected: notes } : notes);
  return described;
}

/** A path or pattern without control characters, bounded in length. */
export const uri = z
  .string()
  .min(1)
  .max(BOUNDS.uri)
  .regex(/^[^\u0000-\u001f\u007f]+$/);

/** A wait in milliseconds. */
export const waitMs = z.int().min(0).max(BOUNDS.waitMs);
export const WAIT = `milliseconds, a whole number from 0 to ${BOUNDS.waitMs} (7 days)`;
