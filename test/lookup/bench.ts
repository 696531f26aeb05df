/** The steps in front of a pool that a test answers by hand, and a ledger in memory. */
import { serviceWaterfalls } from '../../src/definition/compile-service.ts';
import { AttemptClient, type EnrichAnswer, type VerifyAnswer } from '../../src/client/attempt-client.ts';
import type { BatchItem, LookupOptions, ProviderClient } from '../../src/client/provider-client.ts';
import type { CallMeta, CallResult, VerificationResult } from '../../src/client/types.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import { ticketNoteOf } from '../../src/ledger/answer.ts';
import type { LedgerAnswer, LedgerEntry } from '../../src/ledger/ledger.ts';
import type { LookupListener } from '../../src/ledger/run-ledger.ts';
import type { PoolCall, SettledCall } from '../../src/pool/call-pool.ts';
import type { StepContext } from '../../src/lookup/step-context.ts';
import { MissQuarantine, type QuarantineState } from '../../src/lookup/miss-quarantine.ts';
import type { InputRecord } from '../../src/formats/input-record.ts';
import { eachStep, type Step } from '../../src/steps/registry.ts';

export interface Asked {
  readonly step: Step;
  readonly body: string;
  readonly idempotencyKey: string | undefined;
  /** Its failure loses nothing, because smaller calls replace it. */
  readonly divisible: boolean;
  /** The name of an earlier promise; undefined without one. */
  readonly ticket: string | undefined;
  /** The provider answers later. The call is sent again, and waits for its answer as the latest one. */
  promise(ticket: string, charged?: number): void;
  /** The job's limits have no room for it. Returns whether smaller calls replace it. */
  isTooDear(): boolean;
  settle(settled: SettledCall<unknown>): void;
  /** Fails one attempt. Returns true when it was the last one and the call is settled. */
  fails(failure: FailedAttempt): boolean;
}

export interface FailedAttempt {
  readonly code: string;
  readonly detail: string;
  readonly status: number;
  readonly latencyMs: number;
}

export function failedAttempt({ code, detail, status, latencyMs }: FailedAttempt): CallResult<never> & { kind: 'retryable' } {
  return {
    kind: 'retryable',
    code,
    detail,
    retryAfterMs: null,
    meta: { status, headers: {}, quota: null, requestId: null, credits: 0, latencyMs },
  };
}

export interface Bench {
  readonly context: StepContext;
  /** Calls not yet answered, oldest first. */
  readonly asked: Asked[];
  /** Bodies of all calls there ever were, by step; of a company the domain, of a request for several lookups the list of theirs. */
  readonly bodies: Record<Step, string[]>;
  /** Entries put into the ledger, one list for each request. */
  readonly kept: LedgerEntry[][];
  readonly ledger: Map<string, LedgerAnswer>;
  /** Keys that this run is asking for: other runs wait for them. */
  readonly claims: Set<string>;
  readonly distrusted: string[];
  progress: number;
  /** Addresses that wait, and how long, milliseconds. */
  readonly pending: [number, number][];
  /** The oldest call of a step, taken off the list. */
  readonly next: (step?: Step) => Asked;
}

interface BenchOptions extends Partial<QuarantineState> {
  /** Lookups in a request; absent: the client takes one at a time. */
  readonly batch?: number;
  /** Whether the client has no request for one lookup. */
  readonly onlyBatches?: boolean;
  readonly readStored?: ProviderClient['readStored'];
}

export function makeBench(options: BenchOptions = {}): Bench {
  const client = new AttemptClient({ baseUrl: 'http://service.test', apiKey: null });
  const ledger = new Map<string, LedgerAnswer>();
  let sending: Pick<Asked, 'body' | 'idempotencyKey' | 'ticket'> = { body: '', idempotencyKey: undefined, ticket: undefined };
  const note = (body: string, call: LookupOptions | undefined): Promise<never> => {
    sending = { body, idempotencyKey: call?.idempotencyKey, ticket: call?.ticket ?? undefined };
    return new Promise<never>(() => undefined);
  };
  const bench: Bench = {
    asked: [],
    bodies: { enrich: [], verify: [], company: [], reveal: [] },
    kept: [],
    ledger,
    claims: new Set(),
    distrusted: [],
    progress: 0,
    pending: [],
    next: (step) => {
      const at = bench.asked.findIndex((asked) => step === undefined || asked.step === step);
      if (at === -1) throw new Error(`no ${step ?? ''} call is waiting`);
      return bench.asked.splice(at, 1)[0] as Asked;
    },
    context: {
      client: {
        enrichBody: client.enrichBody.bind(client),
        verifyBody: client.verifyBody.bind(client),
        revealBody: client.revealBody.bind(client),
        callEnrich: note,
        callVerify: note,
        callReveal: note,
        callCompany: note,
        ...(options.readStored === undefined ? {} : { readStored: options.readStored }),
        ...(options.batch === undefined
          ? {}
          : {
              batches: {
                size: () => options.batch ?? 1,
                isOnly: () => options.onlyBatches === true,
                call: (_step, bodies, call) => note(`[${bodies.join(',')}]`, call),
              },
            }),
        close: async () => undefined,
        destroy: async () => undefined,
      } satisfies ProviderClient,
      pool: {
        submit: (call: PoolCall<unknown>) => {
          void call.send();
          (bench.bodies[call.step] ??= []).push(sending.body);
          bench.asked.push({
            step: call.step,
            divisible: call.divisible === true,
            ...sending,
            promise: (ticket, charged = 0) => {
              call.promised?.(ticket, charged);
              bench.context.pool.submit(call);
            },
            isTooDear: () => {
              if (call.isTooDear?.() !== true) return false;
              call.settle({ kind: 'failed', rejected: false, status: 0, code: 'too_dear', attempts: 0, requestId: null });
              return true;
            },
            settle: (settled) => call.settle(settled),
            fails: (failure) => {
              if (call.givesUp?.(failedAttempt(failure)) !== true) return false;
              call.settle({ kind: 'failed', rejected: false, status: failure.status, code: failure.code, attempts: 1, requestId: null });
              return true;
            },
          });
        },
      } as unknown as StepContext['pool'],
      ledger: {
        promise: (entries: readonly LedgerEntry[]) => bench.context.ledger.put(entries),
        get: (scope: number, key: string) => ledger.get(`${scope} ${key}`) ?? null,
        ask: (scope: number, key: string, told: LookupListener) => {
          bench.claims.add(key);
          const known = ledger.get(`${scope} ${key}`);
          told(null, null, known === undefined ? null : ticketNoteOf(known));
        },
        release: (_scope: number, keys: readonly string[]) => {
          for (const key of keys) bench.claims.delete(key);
        },
        put: (entries: readonly LedgerEntry[]) => {
          bench.kept.push([...entries]);
          for (const { scope, key, answer } of entries) {
            ledger.set(`${scope} ${key}`, answer);
            if (answer.kind !== 'asking') bench.claims.delete(key);
          }
        },
      },
      quarantine: new MissQuarantine({
        trusted: options.trusted ?? true,
        held: options.held,
        missForms: options.missForms,
        onDistrust: (answers, kind) => {
          bench.distrusted.push(`${answers} ${kind}`);
        },
      }),
      idempotencyKey: (body) => `key of ${body}`,
      onSettled: () => {
        bench.progress++;
      },
      onFatal: (error) => {
        throw error;
      },
      onPending: (addresses, waitMs) => {
        bench.pending.push([addresses, waitMs]);
      },
    },
  };
  return bench;
}

export function emailsIn(body: string): string[] {
  return (JSON.parse(body) as { emails: string[] }).emails;
}

export function person(fields: Record<string, unknown>): SettledCall<EnrichAnswer> {
  return { kind: 'ok', value: { record: fields, text: JSON.stringify(fields) }, attempts: 1, requestId: 'r1' };
}

export function verdicts(emails: readonly string[], result: (email: string) => string = () => 'deliverable'): SettledCall<VerifyAnswer> {
  const byEmail = new Map(
    emails.map((email): [string, VerificationResult] => [
      email.toLowerCase(),
      { email, result: result(email), confidence: 90, reason: null },
    ]),
  );
  return { kind: 'ok', value: { byEmail }, attempts: 1, requestId: 'r2' };
}

/** The settled answer to a request for several lookups. */
export function items(all: readonly BatchItem[]): SettledCall<readonly BatchItem[]> {
  return { kind: 'ok', value: all, attempts: 1, requestId: 'r7' };
}

const itemMeta = (status: number): CallMeta => ({ status, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 10 });

/** The answer to one of them. */
export const ITEMS = {
  person: (fields: Record<string, unknown>): BatchItem => ({
    kind: 'ok',
    value: { record: fields, text: JSON.stringify(fields) },
    meta: itemMeta(200),
  }),
  miss: { kind: 'miss', meta: itemMeta(404) },
  refused: { kind: 'rejected', code: 'bad_key', detail: 'no', meta: itemMeta(422) },
  broken: { kind: 'retryable', code: 'http_500', detail: 'oops', retryAfterMs: null, meta: itemMeta(500) },
} as const;

export const MISS: SettledCall<never> & { kind: 'miss' | 'suppressed' } = { kind: 'miss', status: 404, attempts: 1, requestId: 'r3' };
export const SUPPRESSED: SettledCall<never> = { kind: 'suppressed', status: 451, attempts: 1, requestId: 'r4' };
export const REFUSED: SettledCall<never> = {
  kind: 'failed',
  rejected: true,
  status: 422,
  code: 'validation_failed',
  attempts: 1,
  requestId: 'r5',
};
export const GAVE_UP: SettledCall<never> = { kind: 'failed', rejected: false, status: 500, code: 'http_500', attempts: 5, requestId: 'r6' };

export function record(email: string, domain = '', bad: string | null = null, linkedinUrl = ''): InputRecord {
  return {
    file: 0,
    line: 2,
    end: { file: 0, line: 3, offset: 10, frame: null },
    values: [email, domain],
    json: null,
    email,
    domain,
    linkedinUrl,
    bad,
    raw: null,
    surplus: false,
  };
}

export function job(steps: readonly Step[], when: 'always' | 'unverified' = 'always'): CompiledJob {
  const options = eachStep(({ usual }) => ({ by: usual, minLikelihood: 0, required: [], when, patienceMs: 0 }));
  return { steps, waterfalls: serviceWaterfalls(steps, {}), namesProviders: false, options } as unknown as CompiledJob;
}
