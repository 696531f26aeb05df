/** What the service's parts share, and what is known of one request. Types only. */
import type { FastifyRequest } from 'fastify';
import type { Batches } from './batches/batches.ts';
import type { Fate } from './faults.ts';
import type { Idempotency } from './idempotency.ts';
import type { ActiveKey, KeyRing } from './key-ring.ts';
import type { Region } from './keys.ts';
import type { QuotaDecision, QuotaLedger } from './quota.ts';
import type { EvidenceSource } from '../verification/types.ts';
import type { LoadGate } from './guard/load-gate.ts';
import type { Limits } from './guard/limits.ts';
import type { VerifyGate } from './guard/verify-gate.ts';
import type { SearchIndex } from './search/search-index.ts';
import type { Directory } from './store/directory.ts';
import type { EventStreams } from './signal-events.ts';
import type { Parameters } from './openapi/operation.ts';
import type { Journal } from './store/journal.ts';
import type { Named } from './store/named.ts';
import type { SignalFeed } from './store/signal-feed.ts';
import type { VerificationRows } from './store/verification-rows.ts';
import type { ServiceLog } from './watch/log.ts';
import type { ServiceMeter } from './watch/meter.ts';
import type { StoreHealth } from './watch/store-health.ts';
import type { Announce } from './webhooks/announcement.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

export interface ServiceContext {
  readonly directory: Directory;
  readonly search: SearchIndex;
  readonly signals: SignalFeed;
  readonly streams: EventStreams;
  readonly verifier: Pick<VerifyGate, 'verify'>;
  /** What the store says of addresses. */
  readonly evidence: EvidenceSource;
  readonly keys: KeyRing;
  readonly quota: QuotaLedger;
  readonly verifications: VerificationRows;
  readonly batches: Batches;
  readonly idempotency: Idempotency;
  /** What answers owe is written down by it before they are sent. */
  readonly journal: Pick<Journal, 'written' | 'stuckMs' | 'failure' | 'hasNoDisk'>;
  /** What in the store is damaged. */
  readonly health: StoreHealth;
  readonly webhooks: Webhooks;
  /** Keeps what is to be told to webhooks, within a transaction of the store. */
  readonly announce: Announce;
  readonly region: Region;
  /** Null: no faults asked for. */
  readonly nextFate: (() => Fate) | null;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
  readonly limits: Limits;
  readonly gate: LoadGate;
  readonly meter: ServiceMeter;
  /** Null: nobody wants to know. */
  readonly log: ServiceLog | null;
}

/** One request from its first byte to its answer. */
export interface Call {
  readonly requestId: string;
  readonly startedMs: number;
  key: ActiveKey | null;
  /** Null: no key, or one without a limit. */
  quota: QuotaDecision | null;
  /** Requests of the quota that it has taken. */
  tokens: number;
  credits: number;
  /** It counts as in flight. */
  admitted: boolean;
  replayed: boolean;
  /** It has made something that must be in the store before anybody is told of it. */
  owing: boolean;
  /** The answer is kept for an Idempotency-Key, or is one that was. */
  idempotent: boolean;
  /** Keeps the answer for the Idempotency-Key within the transaction that is open; null: there is none. @throws ServiceError when another service has answered the same request meanwhile */
  keep: ((answer: Answer) => void) | null;
  /** Whether damage in the store kept the answer from being stored for its Idempotency-Key; null for an answer that is not stored. */
  isLost: (() => boolean) | null;
  /** Takes back what was booked, where it could not be written down in time. */
  undo: (() => void) | null;
  /** The body as it was sent. */
  raw: Buffer;
  fate: Fate | null;
}

/** What an endpoint answers when it succeeds: JSON text. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly credits: number;
  /** Whom it names: once they are erased, it is not repeated for its Idempotency-Key. Default: those whose addresses are in the text. */
  readonly named?: Named;
  /** A part of the text that is not kept as it is. */
  readonly secret?: string;
  /** Further response headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An endpoint: from a parsed body to an answer. @throws ServiceError for every answer of 400 and above. */
export type Endpoint = (body: unknown, request: FastifyRequest) => Answer | Promise<Answer>;

declare module 'fastify' {
  interface FastifyRequest {
    call: Call;
  }
  interface FastifyContextConfig {
    /** Query parameters that the route takes; default none. */
    parameters?: Parameters;
    /** Requests have a body. */
    hasBody?: true;
    /** No key is needed, and no quota taken. */
    open?: true;
    /** Its body is taken as a stream, in these media types. */
    raw?: readonly string[];
  }
}
