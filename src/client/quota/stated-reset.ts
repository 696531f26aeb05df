/** When a quota is restored, as a header states it. Pure: the service's own time is passed in. */
import { parseEpoch, parseHttpDate } from '../../util/http-date.ts';
import { goDurationMs } from './go-duration.ts';

/** The form in which a reset is written. Only a delta leaves open what it counts. */
export type ResetForm = 'delta' | 'epoch seconds' | 'epoch milliseconds' | 'date' | 'duration';

export type StatedReset =
  /** A number that counts from now. `unit` null: seconds or milliseconds, the header does not say. */
  | { readonly form: 'delta'; readonly value: number; readonly unit: 'seconds' | null }
  /**
   * A moment or a duration. `inMs`: milliseconds from the response, 0 for the past, null for a moment too far away to be believed.
   * `slackMs`: how much later the reset may be, because the form or the `Date` has whole seconds.
   */
  | {
      readonly form: Exclude<ResetForm, 'delta'>;
      readonly inMs: number | null;
      readonly slackMs: number;
      /** Milliseconds from now by the local clock, negative in the past: for an answer without a `Date`. */
      readonly localMs?: number;
    };

/** The time of an answer: the service's own, else the local one. */
export interface ServiceTime {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** False for an answer without a readable `Date`. */
  readonly isService: boolean;
}

/** A plain decimal number. Other forms that JavaScript reads as numbers (`0x10`, `1e3`) are not numbers in a header. */
const NUMBER = /^\d{1,15}(\.\d{1,9})?$/;
/** A reset further away than this comes from a wrong unit or a broken clock. */
const LONGEST_RESET_MS = 32 * 24 * 3_600_000;
const WHOLE_SECOND_MS = 1_000;

/**
 * Reads the text of a reset header; null when it is none of the forms.
 * @param service the response's `Date`, so that a wrong local clock does no harm
 * @param isSeconds whether the header's definition says that deltas are seconds
 */
export function readStatedReset(text: string, service: ServiceTime, isSeconds: boolean): StatedReset | null {
  if (NUMBER.test(text)) {
    const value = Number(text);
    const epochMs = parseEpoch(value);
    if (epochMs === null) return { form: 'delta', value, unit: isSeconds ? 'seconds' : null };
    return momentOf(epochMs === value ? 'epoch milliseconds' : 'epoch seconds', epochMs, service);
  }
  const atMs = parseHttpDate(text, service.nowMs);
  if (atMs !== null) return momentOf('date', atMs, service);
  const durationMs = goDurationMs(text);
  if (durationMs === null) return null;
  // A duration with a fraction of a second is exact.
  return { form: 'duration', inMs: believableMs(durationMs), slackMs: durationMs % 1_000 === 0 ? WHOLE_SECOND_MS : 0 };
}

/** @param atMs epoch milliseconds, by the service's clock */
export function momentOf(
  form: 'epoch seconds' | 'epoch milliseconds' | 'date',
  atMs: number,
  { nowMs, isService }: ServiceTime,
): StatedReset {
  const moment = { form, inMs: believableMs(atMs - nowMs), slackMs: WHOLE_SECOND_MS };
  return isService ? moment : { ...moment, localMs: atMs - nowMs };
}

/** The time of an answer. @param localMs epoch milliseconds of the local clock, for an answer without a readable `Date` */
export function serviceTimeOf(date: string | null, localMs: number): ServiceTime {
  const nowMs = parseHttpDate(date ?? '', localMs);
  return { nowMs: nowMs ?? localMs, isService: nowMs !== null };
}

/** Not negative; null for a reset that is too far away to be true. */
export function believableMs(ms: number): number | null {
  return Number.isFinite(ms) && ms <= LONGEST_RESET_MS ? Math.max(0, ms) : null;
}
