/**
 * A stand-in of ZeroBounce's API v2, both of its hosts in one, written from what ZeroBounce publishes, read on 2026-11-26:
 * https://www.zerobounce.net/docs/email-validation-api-quickstart/v2-validate-emails, v2-batch-validate-emails, v2-credit-balance and
 * v2-status-codes beside it, https://www.zerobounce.net/docs/api-dashboard/api-rate-limits and api-error-codes beside it.
 * The pages do not show the bodies of 404, 405 and 429, nor the refusal of a batch that is too large: those are chosen here.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import type { StandInWindow } from './windows.ts';
import { findPerson } from './world.ts';
import { recordOf, SANDBOX, type Finding } from './zerobounce-records.ts';

export interface ZeroBounceOptions extends StandInOptions {
  /** Entries of a batch. The default is 100, as the newest pages say; older ones say 200. */
  readonly maxBatch?: number;
}

const MAX_BATCH = 100;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const NO_KEY = 'Invalid API key or your account ran out of credits';

/** A limit, and for how long the vendor blocks the key after one request too many. */
interface Limit {
  readonly name: string;
  readonly window: Required<StandInWindow>;
  readonly blockMs: number;
}

const VALIDATE: Limit = { name: '/v2/validate', window: { name: 'second', limit: 80_000, ms: 10_000 }, blockMs: MINUTE_MS };
const BATCH: Limit = { name: '/v2/validatebatch', window: { name: 'minute', limit: 30, ms: MINUTE_MS }, blockMs: 10 * MINUTE_MS };
const CREDITS: Limit = { name: '/v2/getcredits', window: { name: 'hour', limit: 80_000, ms: HOUR_MS }, blockMs: 24 * HOUR_MS };
const BAD_REQUESTS: Limit = { name: 'bad requests', window: { name: 'minute', limit: 100, ms: MINUTE_MS }, blockMs: HOUR_MS };
const BAD_PATHS: Limit = { name: 'bad paths', window: { name: 'minute', limit: 100, ms: 2 * MINUTE_MS }, blockMs: HOUR_MS };
const BAD_KEYS: Limit = { name: 'bad keys', window: { name: 'hour', limit: 200, ms: HOUR_MS }, blockMs: HOUR_MS };
const WRONGS: readonly Limit[] = [BAD_REQUESTS, BAD_PATHS, BAD_KEYS];

/**
 * Starts the stand-in. Its routes are its paths: `/v2/validate`. Beside the people of the world it has the vendor's free sandbox addresses.
 * When the options change the window of a route, a block lasts as many windows as the documented one does.
 */
export function startZeroBounce(options: ZeroBounceOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => {
    const vendor = new ZeroBounce(options, book);
    return (call) => vendor.answer(call);
  });
}

class ZeroBounce {
  readonly #options: ZeroBounceOptions;
  readonly #book: StandInBook;
  readonly #blockedUntil = new Map<string, number>();
  readonly #wrongs = new Map<string, { count: number; resetsAt: number }>();

  constructor(options: ZeroBounceOptions, book: StandInBook) {
    this.#options = options;
    this.#book = book;
  }

  answer(call: StandInCall): StandInReply {
    if (WRONGS.some((limit) => this.#isBlocked(limit))) return tooMany();
    switch (call.path) {
      case '/v2/validate':
        return call.method === 'GET' ? this.#validate(call.query) : wrongMethod('GET');
      case '/v2/validatebatch':
        return call.method === 'POST' ? this.#validateBatch(call) : wrongMethod('POST');
      case '/v2/getcredits':
        return call.method === 'GET' ? this.#credits(call.query) : wrongMethod('GET');
      default:
        this.#wrong(BAD_PATHS);
        return { status: 404, body: 'Not Found' };
    }
  }

  #validate(query: URLSearchParams): StandInReply {
    const key = query.get('api_key') ?? '';
    if (key === '') return this.#bad({ error: 'Missing parameter: api_key.' });
    if (key !== this.#book.apiKey) return this.#badKey({ error: NO_KEY });
    if (!this.#takes(VALIDATE)) return tooMany();
    const email = query.get('email') ?? '';
    if (email === '') return this.#bad({ error: 'Missing parameter: email.' });
    if (!query.has('ip_address')) return this.#bad({ error: 'Missing parameter: ip_address.' });
    const timeout = query.get('timeout');
    if (timeout !== null && !isWithin(Number(timeout), 3, 60)) return this.#bad({ error: 'Invalid parameter: timeout.' });
    if (this.#book.balance < 1) return this.#unpaid({ error: NO_KEY });
    return { status: 200, body: this.#record(email) };
  }

  #validateBatch({ headers, body }: StandInCall): StandInReply {
    if (!/^application\/json\b/i.test(headers['content-type'] ?? '') || typeof body !== 'object' || body === null) {
      return this.#bad({ Message: 'The body is not JSON.' });
    }
    const { api_key: key, email_batch: batch, timeout } = body as Record<string, unknown>;
    if (!Array.isArray(batch)) return this.#bad({ Message: 'Missing parameter: email_batch.' });
    if (key !== this.#book.apiKey) return this.#badKey(refusedBatch(NO_KEY));
    if (!this.#takes(BATCH)) return tooMany();
    if (batch.length === 0) return this.#bad(NO_ADDRESS);
    const maxBatch = this.#options.maxBatch ?? MAX_BATCH;
    if (batch.length > maxBatch) return this.#bad(refusedBatch(`The batch has more than ${maxBatch} emails.`));
    if (timeout !== undefined && !isWithin(timeout, 10, 120)) return this.#bad({ Message: 'Invalid parameter: timeout.' });
    if (this.#book.balance < batch.length) return this.#unpaid(refusedBatch(NO_KEY));
    const addresses = batch.map(addressOf);
    const given = addresses.filter((address) => address !== null);
    const errors = addresses.filter((address) => address === null).map(() => NO_ADDRESS);
    return { status: 200, body: { email_batch: given.map((address) => this.#record(address)), errors } };
  }

  #credits(query: URLSearchParams): StandInReply {
    if (query.get('api_key') !== this.#book.apiKey) return this.#badKey({ Credits: -1 });
    if (!this.#takes(CREDITS)) return tooMany();
    const { balance } = this.#book;
    return { status: 200, body: { Credits: Number.isFinite(balance) ? balance : 2_375_323 } };
  }

  /** The result of one address. Unknown results and sandbox addresses cost nothing. */
  #record(email: string): object {
    const finding = this.#find(email);
    if (finding.status !== 'unknown' && !SANDBOX.has(email)) this.#book.charge('verify', email.toLowerCase());
    return recordOf(email, finding, this.#book.now());
  }

  #find(email: string): Finding {
    const sandbox = SANDBOX.get(email);
    if (sandbox !== undefined) return sandbox;
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) return { status: 'invalid', subStatus: 'failed_syntax_check', person: null };
    const person = this.#book.look(findPerson({ email }));
    switch (person?.verdict) {
      case 'deliverable':
        return { status: 'valid', subStatus: '', person };
      case 'undeliverable':
        return { status: 'invalid', subStatus: 'mailbox_not_found', person };
      case 'risky':
        return { status: 'catch-all', subStatus: '', person };
      case 'unknown':
        return { status: 'unknown', subStatus: 'greylisted', person };
      default:
        return { status: 'unknown', subStatus: 'mail_server_did_not_respond', person: null };
    }
  }

  /** Counts a request of a route; false is a refusal, and the first one blocks the route. */
  #takes(limit: Limit): boolean {
    if (this.#isBlocked(limit)) return false;
    const now = this.#book.now();
    if (this.#book.windows(limit.name, [limit.window]).take(now) === null) return true;
    const { windows } = this.#options;
    const ms = (typeof windows === 'function' ? windows(limit.name) : windows)?.[0]?.ms ?? limit.window.ms;
    this.#blockedUntil.set(limit.name, now + (limit.blockMs / limit.window.ms) * ms);
    return false;
  }

  #isBlocked({ name }: Limit): boolean {
    return this.#book.now() < (this.#blockedUntil.get(name) ?? -Infinity);
  }

  /** Counts a wrong request. The one that fills the window blocks every route. */
  #wrong({ name, window, blockMs }: Limit): void {
    const now = this.#book.now();
    const open = this.#wrongs.get(name);
    const current = open === undefined || now >= open.resetsAt ? { count: 0, resetsAt: now + window.ms } : open;
    this.#wrongs.set(name, current);
    if (++current.count >= window.limit) this.#blockedUntil.set(name, now + blockMs);
  }

  #bad(body: object): StandInReply {
    this.#wrong(BAD_REQUESTS);
    return { status: 400, body };
  }

  /** The vendor says in a 200 that it refuses, so that the count is made here. */
  #badKey(body: object): StandInReply {
    this.#wrong(BAD_KEYS);
    return this.#unpaid(body);
  }

  #unpaid(body: object): StandInReply {
    this.#book.counts.refusedOther++;
    return { status: 200, body };
  }
}

const NO_ADDRESS = { error: 'Missing email_batch key: email_address.', email_address: 'unknown' };

const refusedBatch = (error: string): object => ({ email_batch: [], errors: [{ error, email_address: 'all' }] });
const tooMany = (): StandInReply => ({ status: 429, body: 'Too Many Requests' });
const wrongMethod = (allow: string): StandInReply => ({ status: 405, headers: { allow }, body: 'Method Not Allowed' });
const isWithin = (value: unknown, from: number, to: number): boolean => typeof value === 'number' && value >= from && value <= to;

function addressOf(entry: unknown): string | null {
  const address = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>)['email_address'] : undefined;
  return typeof address === 'string' && address !== '' ? address : null;
}
