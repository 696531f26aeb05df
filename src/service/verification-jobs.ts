/**
 * Asynchronous verification: addresses that are asked about until their servers have answered, however often these say "later". Kept in memory and bounded;
 * a restart of the service forgets them, and the same request begins them again.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Verifier } from '../verification/verifier.ts';
import type { EmailVerification, EvidenceSource, VerifyMode } from '../verification/types.ts';
import { ServiceError } from './errors.ts';

/** Long enough for the 6, 15 and 60 minutes after which a server that says "later" is asked again. */
const LONGEST_MS = 2 * 3_600_000;
/** One look at all addresses that are open. */
const LOOK_MS = 60_000;
const SOONEST_MS = 1_000;
const KEPT_MS = 24 * 3_600_000;
const MAX_KEPT = 1_000;
/** Jobs that are under way: each holds up to a thousand results, about 2 KB apiece. */
const MAX_OPEN = 100;
/** One key alone cannot take them all. */
const MAX_OPEN_PER_KEY = 25;
const FULL_RETRY_S = '30';

export interface JobRequest {
  readonly emails: readonly string[];
  readonly mode: VerifyMode;
  readonly maxAgeS: number | null;
  /** When what is not known by then is given up, milliseconds; null: when nothing more can be learnt. */
  readonly timeoutMs: number | null;
}

export type JobState =
  /** `nextMs`: when it is worth asking again, from now, milliseconds. */
  | { readonly kind: 'in_progress'; readonly total: number; readonly settled: number; readonly nextMs: number }
  | { readonly kind: 'completed'; readonly results: readonly EmailVerification[]; readonly paid: boolean };

interface Job {
  readonly id: string;
  readonly keyId: string;
  readonly request: JobRequest;
  readonly startedMs: number;
  readonly results: Map<string, EmailVerification>;
  /** Monotonic; null: it is being looked at. */
  nextMs: number | null;
  /** The results in order, as compressed JSON, once all are there. */
  done: Buffer | null;
  failure: unknown;
  paid: boolean;
}

export interface VerificationJobsOptions {
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly evidence: EvidenceSource;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Wall clock, epoch milliseconds: what `retry_at` is told by. */
  readonly now: () => number;
}

export class VerificationJobs {
  readonly #options: VerificationJobsOptions;
  /** The oldest first. */
  readonly #jobs = new Map<string, Job>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(options: VerificationJobsOptions) {
    this.#options = options;
  }

  /** Begins a job, or finds the one of this id that the same request began before. @throws ServiceError when too many are under way */
  begin(id: string, keyId: string, request: JobRequest): void {
    this.#forget();
    if (this.#jobs.has(id)) return;
    const open = [...this.#jobs.values()].filter(isOpen);
    if (open.length >= MAX_OPEN || open.filter((job) => job.keyId === keyId).length >= MAX_OPEN_PER_KEY) {
      throw new ServiceError('overloaded', 'too many asynchronous verifications are under way', { headers: { 'retry-after': FULL_RETRY_S } });
    }
    const job: Job = { id, keyId, request, startedMs: this.#options.clock(), results: new Map(), nextMs: null, done: null, failure: null, paid: false };
    this.#jobs.set(id, job);
    void this.#look(job, [...new Set(request.emails)]);
  }

  /** Null: there is none of this id, or it is another key's. @throws whatever went wrong with it */
  find(id: string, keyId: string): JobState | null {
    this.#forget();
    const job = this.#jobs.get(id);
    if (job === undefined || job.keyId !== keyId) return null;
    if (job.failure !== null) throw job.failure;
    if (job.done !== null) return { kind: 'completed', paid: job.paid, results: JSON.parse(zstdDecompressSync(job.done).toString('utf8')) as EmailVerification[] };
    const settled = [...job.results.values()].filter((result) => !isPending(result)).length;
    const nextMs = Math.max(SOONEST_MS, job.nextMs === null ? 0 : job.nextMs - this.#options.clock());
    return { kind: 'in_progress', total: new Set(job.request.emails).size, settled, nextMs };
  }

  /** The results have been paid for; they are free from now on. */
  markPaid(id: string): void {
    const job = this.#jobs.get(id);
    if (job !== undefined) job.paid = true;
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

  /** Asks about `emails`, and comes back for those whose servers want more time. Never rejects. */
  async #look(job: Job, emails: readonly string[]): Promise<void> {
    const { verifier, evidence, clock } = this.#options;
    const { mode, maxAgeS, timeoutMs } = job.request;
    const endMs = job.startedMs + Math.min(LONGEST_MS, timeoutMs ?? LONGEST_MS);
    job.nextMs = null;
    try {
      const found = await verifier.verify(emails, { mode, maxAgeS, evidence, timeoutMs: Math.max(1, Math.min(LOOK_MS, endMs - clock())) });
      if (this.#closed) return;
      for (const result of found) job.results.set(result.email, result);
      const soonestMs = Math.min(...[...job.results.values()].filter(isPending).map((result) => Math.max(SOONEST_MS, this.#waitMs(result))));
      if (clock() + soonestMs > endMs) this.#finish(job);
      else this.#lookAgain(job, soonestMs);
    } catch (error) {
      job.failure = error;
    }
  }

  #lookAgain(job: Job, waitMs: number): void {
    job.nextMs = this.#options.clock() + waitMs;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const due = [...job.results.values()].filter((result) => isPending(result) && this.#waitMs(result) <= 0);
      void this.#look(job, due.map(({ email }) => email));
    }, waitMs);
    this.#timers.add(timer);
  }

  #finish(job: Job): void {
    job.done = zstdCompressSync(JSON.stringify(job.request.emails.map((email) => job.results.get(email))));
    job.results.clear();
  }

  /** How long until a pending address may be asked about again, milliseconds; not above 0: now. */
  #waitMs({ retry_at }: EmailVerification): number {
    return Date.parse(retry_at ?? '') - this.#options.now();
  }

  #forget(): void {
    const now = this.#options.clock();
    for (const job of this.#jobs.values()) if (!isOpen(job) && (now - job.startedMs > KEPT_MS || this.#jobs.size > MAX_KEPT)) this.#jobs.delete(job.id);
  }
}

function isOpen({ done, failure }: Job): boolean {
  return done === null && failure === null;
}

/** More can be learnt by asking again. */
function isPending({ result, retry_at }: EmailVerification): boolean {
  return result === 'unknown' && retry_at !== null;
}
