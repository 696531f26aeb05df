/**
 * Asynchronous verification: addresses that are asked about until their servers have answered, however often these say "later". Bounded,
 * and in the store: a restart of the service goes on with what was under way.
 */
import type { EmailVerification, EvidenceSource } from '../../verification/types.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { ServiceError } from '../http/problem.ts';
import type { VerifyGate } from '../guards/verify-gate.ts';
import { VERIFY } from './verify-operations.ts';
import { suppressedResult, type AddressResult } from '../records/suppressed-result.ts';
import type { VerificationRequest, VerificationRow, VerificationRows } from './verification-rows.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import { summarise } from './verification-summary.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

/** Long enough for the 6, 15 and 60 minutes after which a server that says "later" is asked again. */
const LONGEST_MS = 2 * 3_600_000;
/** One request about all addresses that are open. */
const ASK_MS = 60_000;
const SOONEST_MS = 1_000;
/** The wait after a refusal by a verifier that is busy. */
const NO_ROOM_MS = 5_000;
const KEPT_MS = 24 * 3_600_000;
const MAX_KEPT = 1_000;
/** Jobs that are under way: each holds up to a thousand results, about 2 KB apiece. */
const MAX_OPEN = 100;
/** One key alone cannot take them all. */
const MAX_OPEN_PER_KEY = 25;
const FULL_RETRY_S = '30';
const VERIFIED = 'verification.completed';

export type VerificationState =
  /** `nextMs`: when it is worth asking again, from now, milliseconds. */
  | { readonly kind: 'in_progress'; readonly total: number; readonly settled: number; readonly nextMs: number }
  | { readonly kind: 'completed'; readonly results: readonly AddressResult[]; readonly paid: boolean };

/** The states of a job in progress: it asks and waits in turn, until it is finished (and gone from here) or has failed. */
type JobState =
  /** The verifier is asked. Leads to `waiting`, to `failed`, or to the end. */
  | { readonly kind: 'asking' }
  /** Until the next check, epoch milliseconds. Leads to `asking` when an address is due then. */
  | { readonly kind: 'waiting'; readonly untilMs: number }
  /** Final: a client that asks for the job gets the error. */
  | { readonly kind: 'failed'; readonly error: unknown };

interface Job {
  row: VerificationRow;
  readonly results: Map<string, EmailVerification>;
  state: JobState;
}

export interface VerificationJobsOptions {
  readonly verifier: Pick<VerifyGate, 'verify'>;
  readonly evidence: EvidenceSource;
  readonly rows: VerificationRows;
  /** The clock of the calendar, epoch milliseconds: `retry_at` is such a time, and it passes while the service is down. */
  readonly now: () => number;
  readonly webhooks: Pick<Webhooks, 'wants' | 'collect' | 'withdraw'>;
  readonly health: Pick<StoreHealth, 'damaged' | 'reading'>;
}

export class VerificationJobs {
  readonly #options: VerificationJobsOptions;
  readonly #jobs = new Map<string, Job>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  /** Goes on with what an earlier process has left undone. */
  constructor(options: VerificationJobsOptions) {
    this.#options = options;
    for (const row of options.health.reading('verifications', () => options.rows.undone(options.now() - KEPT_MS, MAX_OPEN), [])) {
      const job = this.#open(row);
      addResults(job, row.results);
      this.#waitOrFinish(job);
    }
  }

  /**
   * Begins a job, which must be in the store before the client hears of it. Addresses in `known` are not verified.
   * @param id of no other job
   * @throws ServiceError when too many are under way
   */
  begin(id: string, keyId: string, request: VerificationRequest, known: readonly AddressResult[] = []): void {
    const { rows, now } = this.#options;
    rows.dropOld(now() - KEPT_MS, MAX_KEPT);
    for (const { row, state } of this.#jobs.values())
      if (state.kind === 'failed' && now() - row.startedAtMs > KEPT_MS) this.#jobs.delete(row.id);
    const open = [...this.#jobs.values()].filter(isOpen);
    if (open.length >= MAX_OPEN || open.filter(({ row }) => row.keyId === keyId).length >= MAX_OPEN_PER_KEY) {
      throw new ServiceError('overloaded', 'too many asynchronous verifications are under way', {
        headers: { 'retry-after': FULL_RETRY_S },
      });
    }
    const job = this.#open({ id, keyId, startedAtMs: now(), request, results: known, done: false, paid: false });
    addResults(job, known);
    rows.put(job.row);
    if (isSettled(job)) this.#finish(job);
    else
      void this.#ask(
        job,
        addressesIn(request).filter((email) => !job.results.has(email)),
      );
  }

  /** Drops a job that could not be written: the client never heard of it. */
  drop(id: string): void {
    this.#jobs.delete(id);
    this.#options.rows.drop(id);
    this.#options.webhooks.withdraw(({ type, data }) => type === VERIFIED && data['id'] === id);
  }

  /** Null for an unknown id, or a job of another key. @throws the error that ended the job */
  find(id: string, keyId: string): VerificationState | null {
    const { rows, now } = this.#options;
    const job = this.#jobs.get(id);
    if (job !== undefined) {
      this.#dropErased(job);
      if (isSettled(job)) this.#finish(job);
    }
    const row = this.#jobs.get(id)?.row ?? rows.find(id);
    if (row === null || row.keyId !== keyId || now() - row.startedAtMs > KEPT_MS) return null;
    if (job?.state.kind === 'failed') throw job.state.error;
    if (row.done) return { kind: 'completed', paid: row.paid, results: row.results };
    const settled = [...(job?.results.values() ?? row.results)].filter((result) => !isPending(result)).length;
    const nextMs = Math.max(SOONEST_MS, (job?.state.kind === 'waiting' ? job.state.untilMs : 0) - now());
    return { kind: 'in_progress', total: addressesIn(row.request).length, settled, nextMs };
  }

  /** The results have been paid for and are free from now on; or, where that was taken back, are not. */
  markPaid(id: string, paid: boolean): void {
    const { rows } = this.#options;
    const row = rows.find(id);
    if (row !== null && row.paid !== paid) rows.put({ ...row, paid });
  }

  /** How many are under way. */
  get open(): number {
    return [...this.#jobs.values()].filter(isOpen).length;
  }

  /** Nothing more is asked. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #open(row: VerificationRow): Job {
    const job: Job = { row, results: new Map(), state: { kind: 'asking' } };
    this.#jobs.set(row.id, job);
    return job;
  }

  /** Asks about `emails`, and comes back for those whose servers want more time. Never rejects. */
  async #ask(job: Job, emails: readonly string[]): Promise<void> {
    const { verifier, evidence, now, rows } = this.#options;
    const { mode, maxAgeS } = job.row.request;
    job.state = { kind: 'asking' };
    try {
      const found = await verifier.verify(emails, {
        mode,
        maxAgeS,
        evidence,
        timeoutMs: Math.max(1, Math.min(ASK_MS, endOf(job) - now())),
      });
      if (this.#closed || !this.#jobs.has(job.row.id)) return;
      for (const result of found) job.results.set(result.email, result);
      this.#dropErased(job);
      rows.put({ ...job.row, results: [...job.results.values()] });
      this.#waitOrFinish(job);
    } catch (error) {
      if (error instanceof ServiceError) this.#wait(job, NO_ROOM_MS);
      else this.#fail(job, error);
    }
  }

  /** Waits for the next address that may be asked about; finishes when none is left within the job's time. */
  #waitOrFinish(job: Job): void {
    const asked = addressesIn(job.row.request).every((email) => job.results.has(email));
    const soonestMs = asked
      ? Math.min(...[...job.results.values()].filter(isPending).map((result) => Math.max(SOONEST_MS, this.#waitMs(result))))
      : 0;
    if (asked && this.#options.now() + soonestMs > endOf(job)) this.#finish(job);
    else this.#wait(job, soonestMs);
  }

  #wait(job: Job, waitMs: number): void {
    if (this.#closed) return;
    job.state = { kind: 'waiting', untilMs: this.#options.now() + waitMs };
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      try {
        this.#askDue(job);
      } catch (error) {
        // Nobody waits for a timer: a store that cannot be read must end this job alone.
        this.#fail(job, error);
      }
    }, waitMs);
    this.#timers.add(timer);
  }

  #askDue(job: Job): void {
    const isDue = (email: string): boolean => {
      const known = job.results.get(email);
      return known === undefined || (isPending(known) && this.#waitMs(known) <= 0);
    };
    if (!this.#jobs.has(job.row.id)) return;
    this.#dropErased(job);
    const due = addressesIn(job.row.request).filter(isDue);
    if (due.length > 0) void this.#ask(job, due);
    else this.#waitOrFinish(job);
  }

  #fail(job: Job, error: unknown): void {
    job.state = { kind: 'failed', error };
    if (isUnreadable(error)) this.#options.health.damaged('verifications', error);
  }

  /** Removes people who were erased since the job began. */
  #dropErased(job: Job): void {
    const left = this.#options.rows.withoutErased({ ...job.row, results: [...job.results.values()] });
    job.row = { ...left, results: [] };
    job.results.clear();
    addResults(job, left.results);
  }

  #finish({ row, results }: Job): void {
    this.#jobs.delete(row.id);
    const found = row.request.emails.flatMap((email) =>
      email === null ? suppressedResult(null, row.startedAtMs) : (results.get(email) ?? []),
    );
    this.#options.rows.put({ ...row, done: true, results: found });
    this.#announce(row, found);
  }

  #announce({ id, keyId, request: { webhookUrl } }: VerificationRow, found: readonly AddressResult[]): void {
    const { webhooks } = this.#options;
    if (!webhooks.wants(keyId, VERIFIED, webhookUrl)) return;
    webhooks.collect({
      type: VERIFIED,
      keyId,
      data: { id, location: `${VERIFY.path}/${id}`, total: found.length, summary: summarise(found) },
      webhookUrl,
    });
  }

  /** How long until a pending address may be asked about again, milliseconds; not above 0: now. */
  #waitMs({ retry_at }: EmailVerification): number {
    return Date.parse(retry_at ?? '') - this.#options.now();
  }
}

function endOf({ row: { startedAtMs, request } }: Job): number {
  return startedAtMs + Math.min(LONGEST_MS, request.timeoutMs ?? LONGEST_MS);
}

/** Whether every address has a final result. */
function isSettled({ row, results }: Job): boolean {
  return addressesIn(row.request).every((email) => {
    const known = results.get(email);
    return known !== undefined && !isPending(known);
  });
}

function isOpen({ state }: Job): boolean {
  return state.kind !== 'failed';
}

/** Adds the results that have an address. */
function addResults(job: Job, results: readonly AddressResult[]): void {
  for (const result of results) if (hasAddress(result)) job.results.set(result.email, result);
}

/** More can be learnt by asking again. */
function isPending({ result, retry_at }: AddressResult): boolean {
  return result === 'unknown' && retry_at !== null;
}

function hasAddress(result: AddressResult): result is EmailVerification {
  return result.email !== null;
}

/** Each once. */
function addressesIn({ emails }: VerificationRequest): readonly string[] {
  return [...new Set(emails)].filter((email) => email !== null);
}
