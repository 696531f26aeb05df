/** Parts that all stand-ins of vendors share: options, windows, counts, the log of calls, faults, and the HTTP server. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { FixedWindows, type StandInWindow } from './windows.ts';
import { personOf, type StandInCompany, type StandInPerson } from './world.ts';

export const DEFAULT_API_KEY = 'test-key';
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Older calls leave the log, so that a bench with millions of calls needs no more memory. */
const MAX_CALLS = 10_000;

export interface StandInOptions {
  /** The accepted key. The default is `test-key`. */
  readonly apiKey?: string;
  /** The people this vendor has. The default is all. */
  readonly knows?: (person: StandInPerson, index: number) => boolean;
  /** The companies this vendor has. The default is all. */
  readonly knowsCompany?: (company: StandInCompany) => boolean;
  /** The filled fields of a person, by their names in `StandInPerson`. The default is all. */
  readonly fields?: (person: StandInPerson, index: number) => readonly string[];
  /** Limits of each route in place of the documented ones, alike or by route. An empty list lifts every limit. */
  readonly windows?: readonly StandInWindow[] | ((route: string) => readonly StandInWindow[]);
  /** The balance. The default is unlimited. */
  readonly credits?: number;
  /** Milliseconds before each answer. */
  readonly latencyMs?: number;
  readonly port?: number;
  /** Milliseconds, as `Date.now`. */
  readonly clock?: () => number;
  /** False drops `calls` and `paidFor` for benches with millions of lookups. */
  readonly hasLog?: boolean;
}

/** One request. `status` is null until it is answered. */
export interface StandInCall {
  /** From 1. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined when it is missing or not JSON. */
  readonly body: unknown;
  /** By the clock of the options. */
  readonly at: number;
  status: number | null;
  /** When the next request came over the same connection, as `Date.now`. By then the client had read this answer. */
  readBy: number | null;
}

export interface StandInReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as text. */
  readonly body: unknown;
  /** True when a status of 400 or more is the vendor's way to say that it found nothing. */
  readonly isMiss?: boolean;
  /** True cuts the connection after half of the body. */
  readonly isCut?: boolean;
  /** Milliseconds before the answer, beyond the latency. */
  readonly delayMs?: number;
}

/** Answers in place of the vendor, or null. `usual` is the vendor's own answer: it counts and charges. */
export type StandInHook = (call: StandInCall, usual: () => StandInReply) => StandInReply | null | Promise<StandInReply | null>;

export interface StandInCounts {
  requests: number;
  /** Entries looked up: a batch of ten counts ten. */
  lookups: number;
  matched: number;
  missed: number;
  refused429: number;
  refusedOther: number;
  /** Credits. */
  charged: number;
}

export interface StandIn {
  readonly url: string;
  /** The latest calls, oldest first. */
  readonly calls: readonly StandInCall[];
  readonly counts: Readonly<StandInCounts>;
  /** How often each lookup was charged: `enrich person-1@company-0.example`. */
  readonly paidFor: ReadonlyMap<string, number>;
  /** A fault, until it is set back to null. */
  hook: StandInHook | null;
  /** True cuts every connection, and each new one at once. */
  setDown(isDown: boolean): void;
  /** Resolves as soon as `until` holds. It is checked at each request and each answer. */
  when(until: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** The vendor's side of the counts: windows, balance and charges. */
export class StandInBook {
  readonly counts: StandInCounts = { requests: 0, lookups: 0, matched: 0, missed: 0, refused429: 0, refusedOther: 0, charged: 0 };
  readonly paidFor = new Map<string, number>();
  readonly apiKey: string;
  readonly #options: StandInOptions;
  readonly #windows = new Map<string, FixedWindows>();

  constructor(options: StandInOptions) {
    this.#options = options;
    this.apiKey = options.apiKey ?? DEFAULT_API_KEY;
  }

  now(): number {
    return (this.#options.clock ?? Date.now)();
  }

  /** Credits left; infinite when the options set none. */
  get balance(): number {
    return (this.#options.credits ?? Infinity) - this.counts.charged;
  }

  /** The windows of a route. Routes that share a limit share the name. */
  windows(route: string, documented: readonly StandInWindow[]): FixedWindows {
    const known = this.#windows.get(route);
    if (known !== undefined) return known;
    const { windows = documented } = this.#options;
    const opened = new FixedWindows(typeof windows === 'function' ? windows(route) : windows);
    this.#windows.set(route, opened);
    return opened;
  }

  /** The person if this vendor has it, with empty strings and zeros in the fields that this vendor lacks. */
  find(index: number | null): StandInPerson | null {
    const person = index === null ? null : personOf(index);
    if (person === null || index === null || !(this.#options.knows?.(person, index) ?? true)) return null;
    const fields = this.#options.fields?.(person, index);
    if (fields === undefined) return person;
    const filled = Object.entries(person).map(([name, value]) => [
      name,
      fields.includes(name) ? value : typeof value === 'number' ? 0 : '',
    ]);
    return Object.fromEntries(filled) as StandInPerson;
  }

  /** The company if this vendor has it. */
  findCompany(company: StandInCompany | null): StandInCompany | null {
    return company !== null && (this.#options.knowsCompany?.(company) ?? true) ? company : null;
  }

  /** Counts a lookup. */
  count(isMatch: boolean): void {
    this.counts.lookups++;
    if (isMatch) this.counts.matched++;
    else this.counts.missed++;
  }

  /** Finds a person and counts the lookup. */
  look(index: number | null): StandInPerson | null {
    const person = this.find(index);
    this.count(person !== null);
    return person;
  }

  /** Gives credits back that were taken for a lookup. */
  giveBack(credits: number): void {
    this.counts.charged -= credits;
  }

  /** Charges a lookup. `key` names it within its operation. */
  charge(operation: string, key: string, credits = 1): void {
    this.counts.charged += credits;
    if (this.#options.hasLog === false) return;
    const name = `${operation} ${key}`;
    this.paidFor.set(name, (this.paidFor.get(name) ?? 0) + 1);
  }
}

/** Starts a vendor on a free port of loopback, or on the port of the options. `answer` gets each call after its body has arrived. */
export async function startStandIn(
  options: StandInOptions,
  vendor: (book: StandInBook) => (call: StandInCall) => StandInReply,
): Promise<StandIn> {
  const book = new StandInBook(options);
  const { counts } = book;
  const answer = vendor(book);
  const calls: StandInCall[] = [];
  const sockets = new Set<Socket>();
  const latest = new WeakMap<Socket, StandInCall>();
  let waiting: { readonly until: () => boolean; readonly resolve: () => void }[] = [];
  let isDown = false;

  const look = (): void => {
    if (waiting.length === 0) return;
    waiting = waiting.filter(({ until, resolve }) => {
      if (!until()) return true;
      resolve();
      return false;
    });
  };
  const send = (call: StandInCall, reply: StandInReply, response: ServerResponse): void => {
    if (reply.status === 429) counts.refused429++;
    else if (reply.status >= 400 && reply.isMiss !== true) counts.refusedOther++;
    call.status = reply.status;
    write(reply, response);
    look();
  };
  const finish = (call: StandInCall, reply: StandInReply, response: ServerResponse): void => {
    const delayMs = (options.latencyMs ?? 0) + (reply.delayMs ?? 0);
    if (delayMs > 0) setTimeout(send, delayMs, call, reply, response);
    else send(call, reply, response);
  };
  const take = (request: IncomingMessage, response: ServerResponse, text: string): void => {
    const call = callOf(request, text, ++counts.requests, book.now());
    const before = latest.get(request.socket);
    if (before !== undefined) before.readBy = Date.now();
    latest.set(request.socket, call);
    if (options.hasLog !== false) {
      if (calls.length >= 2 * MAX_CALLS) calls.splice(0, MAX_CALLS);
      calls.push(call);
    }
    look();
    const { hook } = standIn;
    if (hook === null) finish(call, answer(call), response);
    else void Promise.resolve(hook(call, () => answer(call))).then((reply) => finish(call, reply ?? answer(call), response));
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) request.socket.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => take(request, response, chunks.length === 0 ? '' : Buffer.concat(chunks).toString()));
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    if (isDown) socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');

  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const standIn: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    counts,
    paidFor: book.paidFor,
    hook: null,
    setDown: (down) => {
      isDown = down;
      if (down) cutAll();
    },
    when: (until) => (until() ? Promise.resolve() : new Promise((resolve) => waiting.push({ until, resolve }))),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cutAll();
      await closed;
    },
  };
  return standIn;
}

function callOf({ method = '', url = '', headers }: IncomingMessage, text: string, number: number, at: number): StandInCall {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  return { number, method, path, query, headers, text, body: parsed(text), at, status: null, readBy: null };
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function write({ status, headers, body, isCut }: StandInReply, response: ServerResponse): void {
  const isText = typeof body === 'string';
  const text = isText ? body : JSON.stringify(body);
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8';
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers });
  if (isCut !== true) response.end(text);
  else response.write(Buffer.from(text).subarray(0, text.length / 2), () => response.socket?.destroy());
}
