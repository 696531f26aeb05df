/** Parts of the report that are more than a copy of the checkpoint's totals. Pure. */
import { joinSlots, readSlots, type CallSlot, type StoredSlots } from '../../checkpoint/call-slots.ts';
import type { NotableCall } from '../../checkpoint/notable-calls.ts';
import type { PreviousRun } from '../../checkpoint/previous-run.ts';
import type { LoggedWait } from '../../checkpoint/wait-log.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { sideFilePath, splitPath } from '../../definition/output-shape.ts';
import { VERDICTS } from '../../steps/verify.ts';
import type { InputFile } from '../../formats/input-record.ts';
import { answeredKinds, deliverableRate, kindRates, matchRate } from '../../writer/rates.ts';
import type { KindCounts } from '../../writer/tally.ts';

/** Slots of the timeline at most. A chart on a phone can show them, and a person can step through them. */
export const MOST_TIMELINE_SLOTS = 60;

/** The figures by which two runs are compared. */
export interface Figures {
  /** Records over the running time. Null for a run of less than a second. */
  readonly recordsPerSecond: number | null;
  /** `matched` as a share of `matched` and `no_match`, 0 to 1. Null without either. */
  readonly matchRate: number | null;
  /** `deliverable` as a share of all verdicts, 0 to 1. Null without a verdict. */
  readonly deliverableRate: number | null;
}

type Counted = Pick<PreviousRun, 'records' | 'verification' | 'activeMs'>;

/** The answered records of a kind. `matchRate`: `matched` as a share of both, 0 to 1. */
export interface KindFigures extends KindCounts {
  readonly matchRate: number;
}

/** People and companies apart; a kind without an answered record is left out. */
export interface FiguresByKind {
  readonly people?: KindFigures;
  readonly companies?: KindFigures;
}

export function figuresByKind({ records, companies }: Pick<PreviousRun, 'records' | 'companies'>): FiguresByKind {
  const kinds = answeredKinds({ outcomes: records, ...(companies === undefined ? {} : { companies }) });
  return Object.fromEntries(kindRates(kinds).map(({ kind, rate }) => [kind, { ...kinds[kind], matchRate: share(rate) }]));
}

export function figuresOf({ records, verification, activeMs }: Counted): Figures {
  return {
    recordsPerSecond: activeMs < 1_000 || records.total === 0 ? null : rounded((records.total / activeMs) * 1_000, 10),
    matchRate: share(matchRate({ outcomes: records })),
    deliverableRate: share(deliverableRate({ verification })),
  };
}

/** Requests over time beside those that the plan permitted. */
export interface Timeline {
  /** Milliseconds of each slot. */
  readonly slotMs: number;
  /** In order. Slots in which nothing ran are left out. */
  readonly slots: readonly TimelineSlot[];
}

export interface TimelineSlot {
  /** Its start, RFC 3339, UTC. */
  readonly at: string;
  readonly requests: number;
  /** Requests that the plan permitted. Null for an unlimited plan. */
  readonly permitted: number | null;
  /** Milliseconds without requests because the service asked to wait. */
  readonly throttledMs: number;
  /** Milliseconds without requests because the service was down. */
  readonly downMs: number;
  /** Milliseconds of the waits in the report's `waits.list`, whatever their reason. */
  readonly waitedMs: number;
}

export function timelineOf(series: StoredSlots | undefined, waits: readonly LoggedWait[]): Timeline {
  const { widthMs, slots } = joinSlots([readSlots(series)], MOST_TIMELINE_SLOTS);
  return { slotMs: widthMs, slots: slots.map((slot) => timelineSlot(slot, widthMs, waits)) };
}

function timelineSlot(
  { number, calls, permitted, throttledMs, downMs }: CallSlot,
  widthMs: number,
  waits: readonly LoggedWait[],
): TimelineSlot {
  const fromMs = number * widthMs;
  const waited = waits.map(({ at, ms }) => Math.min(fromMs + widthMs, Date.parse(at) + ms) - Math.max(fromMs, Date.parse(at)));
  return {
    at: new Date(fromMs).toISOString(),
    requests: calls,
    permitted: permitted > 0 ? rounded(permitted, 100) : null,
    throttledMs: Math.round(throttledMs),
    downMs: Math.round(downMs),
    waitedMs: Math.round(waited.reduce((sum, ms) => sum + Math.max(0, ms), 0)),
  };
}

/** A request of `slowest` or `mostRetried`. */
export interface ReportedCall extends Omit<NotableCall, 'file'> {
  /** The input file as the job names it; null for a file that the manifest does not have. */
  readonly file: string | null;
}

export function reportedCalls(calls: readonly NotableCall[] = [], files: readonly Pick<InputFile, 'uri'>[]): ReportedCall[] {
  return calls.map(({ file, ...call }) => ({ file: files[file]?.uri ?? null, ...call }));
}

/** The files beside a finished output, by the names that the job gives them. */
export interface ReportFiles {
  readonly output: string;
  readonly report: string;
  readonly page: string;
  /** Null when no record failed and none is invalid. */
  readonly errors: string | null;
  /** Left out while no row is open. */
  readonly open?: string;
  readonly checkpoint: string;
  /** The files of `output.split`. */
  readonly verdicts: readonly string[];
}

/** Null for a run to standard output. */
export function filesOf(
  { output: { uri, split }, checkpoint }: Pick<CompiledJob, 'output' | 'checkpoint'>,
  { records, verification, open = 0 }: Pick<PreviousRun, 'records' | 'verification'> & { readonly open?: number },
): ReportFiles | null {
  if (uri === '-') return null;
  const verdicts = split === null ? [] : VERDICTS.filter((verdict) => (verification[verdict] ?? 0) > 0);
  return {
    output: uri,
    report: `${uri}.report.json`,
    page: `${uri}.report.html`,
    errors: records.failed + records.invalid > 0 ? sideFilePath(uri, 'errors') : null,
    ...(open === 0 ? {} : { open: sideFilePath(uri, 'open') }),
    checkpoint: checkpoint.uri,
    verdicts: verdicts.map((verdict) => splitPath(uri, verdict)),
  };
}

/** A hundredth of a percent is enough. */
function share(of: number | null): number | null {
  return of === null ? null : rounded(of, 10_000);
}

function rounded(n: number, parts: number): number {
  return Math.round(n * parts) / parts;
}
