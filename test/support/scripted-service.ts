/**
 * A data service that a test scripts. It counts requests by key and by Idempotency-Key, answers each key alike, and can be slow, hold
 * answers back or break them.
 * It runs in the test's own process, so that a test can wait for a request instead of sleeping.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { freePort } from '../services/free-port.ts';
import type { Step } from '../../src/steps/registry.ts';

/** The accepted key, unless a test changes it. No file and no output may ever contain it. */
export const API_KEY = 'mr_test_5ecret-never-to-be-seen-0123456789';

export interface Asked {
  readonly path: Step;
  /** The e-mail, domain, profile, number or name of a lookup, or all e-mails of a verify request. */
  readonly keys: readonly string[];
  readonly body: string;
  readonly idempotencyKey: string | null;
  /** The number of the request, from 1. */
  readonly number: number;
}

/** One request and its outcome. Times as in `Date.now()`. */
export interface Exchanged {
  readonly asked: Asked;
  /** Null while it is unanswered, or when it was cut off. */
  status: number | null;
  answeredAt: number | null;
  /** When the next request came over the same connection. By then the client had read this answer. */
  readBy: number | null;
  /** True when the script has cut the connection. */
  broken: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers?: Record<string, string>;
}

/** `usual` is the service's normal answer; `reply` sends any answer. To break an answer, use the response itself. */
export type Script = (asked: Asked, response: ServerResponse, reply: (reply: Reply) => void, usual: () => Reply) => void;

export class ScriptedService {
  url = '';
  /** The key that is accepted now. */
  apiKey = API_KEY;
  /** Milliseconds before each answer. */
  latencyMs = 0;
  script: Script = (_asked, _response, reply, usual) => reply(usual());
  readonly requests: Asked[] = [];
  /** All exchanges, with their outcomes. */
  readonly exchanges: Exchanged[] = [];
  /** Requests of each key by step: `enrich ana@works.example`. */
  readonly asked = new Map<string, number>();
  /** The Idempotency-Keys of each key. */
  readonly idempotencyKeys = new Map<string, Set<string>>();
  /** Keys that were asked for and are not answered yet. */
  readonly unanswered = new Map<string, number>();
  /** Requests that were answered completely. */
  answered = 0;
  /** Credits charged. */
  credits = 0;
  authorizations = new Set<string>();
  /** Idempotency-Keys of requests that were charged. */
  readonly #charged = new Set<string>();
  readonly #latest = new WeakMap<object, Exchanged>();
  #waiting: { readonly until: () => boolean; readonly resolve: () => void }[] = [];
  readonly #server = createServer((request, response) => void this.#take(request, response));

  static async start(): Promise<ScriptedService> {
    const service = new ScriptedService();
    await service.listen(await freePort());
    return service;
  }

  /** Listens again on the same port after a stop. */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${port}`;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Requests by step, like `calls` of a report. Steps without requests are left out. */
  get callsMade(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.calls).filter(([, calls]) => calls > 0));
  }

  get calls(): Record<Step, number> {
    const of = (path: Step): number => this.requests.filter((asked) => asked.path === path).length;
    return { enrich: of('enrich'), verify: of('verify'), company: of('company'), reveal: of('reveal') };
  }

  /** Requests of keys beyond the first request of each. */
  get repeated(): number {
    let sum = 0;
    for (const times of this.asked.values()) sum += times - 1;
    return sum;
  }

  /** Resolves as soon as `until` holds; it is checked at each request and each answer. */
  when(until: () => boolean): Promise<void> {
    if (until()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ until, resolve }));
  }

  /** Resolves after that many further requests. */
  sees(more: number): Promise<void> {
    const target = this.requests.length + more;
    return this.when(() => this.requests.length >= target);
  }

  forget(): void {
    this.requests.length = 0;
    this.exchanges.length = 0;
    this.asked.clear();
    this.idempotencyKeys.clear();
    this.answered = 0;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString();
    this.authorizations.add(request.headers.authorization ?? '');
    const asked = this.#note(request, body);
    const exchanged = this.#exchange(request, asked, arrivedAt);
    const names = asked.keys.map((key) => `${asked.path} ${key}`);
    for (const name of names) count(this.unanswered, name, 1);
    response.once('close', () => {
      for (const name of names) count(this.unanswered, name, -1);
      if (response.writableFinished) {
        this.answered++;
        exchanged.status = response.statusCode;
        exchanged.answeredAt = Date.now();
      }
      this.#look();
    });
    this.#look();
    const reply = ({ status, body, headers }: Reply): void => {
      response.writeHead(status, {
        'content-type': status < 400 ? 'application/json' : 'application/problem+json',
        'x-request-id': `req-${asked.number}`,
        'x-credits-charged': String(this.#charge(asked, status)),
        ...headers,
      });
      response.end(body);
    };
    const act = (): void => {
      const gone = request.socket.destroyed;
      this.script(asked, response, reply, () => usualReply(asked));
      exchanged.broken = !gone && request.socket.destroyed;
    };
    if (request.headers.authorization !== `Bearer ${this.apiKey}`) reply(problem(401, 'unauthorized'));
    else if (this.latencyMs > 0) setTimeout(act, this.latencyMs);
    else act();
  }

  /** A credit for each address of a verify request and each match; a repeated request is free. */
  #charge({ path, keys, idempotencyKey }: Asked, status: number): number {
    if (status !== 200 || (idempotencyKey !== null && this.#charged.has(idempotencyKey))) return 0;
    if (idempotencyKey !== null) this.#charged.add(idempotencyKey);
    const credits = path === 'verify' ? keys.length : 1;
    this.credits += credits;
    return credits;
  }

  #note(request: IncomingMessage, body: string): Asked {
    const url = request.url ?? '';
    const company = /\/v1\/companies\/([^/]+)$/.exec(url)?.[1];
    const asks =
      company === undefined
        ? (JSON.parse(body) as { readonly emails?: string[] } & Readonly<Record<string, string | undefined>>)
        : { domain: decodeURIComponent(company) };
    const header = request.headers['idempotency-key'];
    const asked: Asked = {
      path:
        company !== undefined
          ? 'company'
          : url.endsWith('/v1/enrich')
            ? 'enrich'
            : url.endsWith('/v1/contacts/reveal')
              ? 'reveal'
              : 'verify',
      keys: asks.emails?.map((spelled) => spelled.toLowerCase()) ?? [keyOf(asks)],
      body,
      idempotencyKey: typeof header === 'string' ? header : null,
      number: this.requests.length + 1,
    };
    this.requests.push(asked);
    for (const key of asked.keys) {
      const name = `${asked.path} ${key}`;
      count(this.asked, name, 1);
      const known = this.idempotencyKeys.get(name) ?? new Set();
      this.idempotencyKeys.set(name, known.add(asked.idempotencyKey ?? ''));
    }
    return asked;
  }

  #exchange({ socket }: IncomingMessage, asked: Asked, arrivedAt: number): Exchanged {
    const before = this.#latest.get(socket);
    if (before !== undefined) before.readBy = arrivedAt;
    const exchanged: Exchanged = { asked, status: null, answeredAt: null, readBy: null, broken: false };
    this.#latest.set(socket, exchanged);
    this.exchanges.push(exchanged);
    return exchanged;
  }

  #look(): void {
    this.#waiting = this.#waiting.filter(({ until, resolve }) => {
      if (!until()) return true;
      resolve();
      return false;
    });
  }
}

/** The key of a lookup as the ledger writes it. A name and its place have a tab between them. */
function keyOf({ email, domain, linkedin_url, phone, name, company }: Readonly<Record<string, string | undefined>>): string {
  return name !== undefined ? `${name}\t${domain ?? company}` : (email ?? domain ?? linkedin_url ?? phone ?? '');
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const now = (counts.get(name) ?? 0) + by;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}

export function problem(status: number, code: string, detail = `says ${code}`): Reply {
  return { status, body: JSON.stringify({ type: 'about:blank', title: code, status, code, detail }) };
}

/** Local parts and profiles that begin with these words get the answer they name. All others are found, except one company in seven. */
function usualReply({ path, keys }: Asked): Reply {
  if (path === 'verify') return { status: 200, body: JSON.stringify({ data: keys.map((email) => verdict(email)) }) };
  const key = (keys[0] ?? '').replace(/^https:.*\//, '');
  if (path === 'company')
    return digest(key) % 7 === 0
      ? { status: 200, body: 'null' }
      : {
          status: 200,
          body: JSON.stringify({
            domain: key,
            name: `Company of ${key}`,
            employees: digest(key) % 5_000,
            revenue: '$9M',
            industry: 'Tools',
            stack: ['Go'],
          }),
        };
  if (key.startsWith('miss')) return problem(404, 'no_match');
  if (key.startsWith('gone')) return problem(451, 'suppressed_person');
  if (key.startsWith('refused')) return problem(422, 'validation_failed');
  if (path === 'reveal')
    return { status: 200, body: JSON.stringify({ email: `${key}@revealed.example`, mobile: '+12125550100', linkedin_url: keys[0] }) };
  const byPerson = key.startsWith('+') || key.includes('\t');
  const byEmail = key.includes('@') || byPerson;
  return {
    status: 200,
    body: JSON.stringify({
      email: byPerson ? `found${digest(key)}@works.example` : byEmail ? key : null,
      name: byEmail ? `Name of ${key}` : null,
      title: byEmail ? `Title, "${digest(key).toString(36)}"\nsecond line` : null,
      company: { name: `Company ${digest(key) % 97}`, employees: digest(key) % 5_000, revenue: '$12M', stack: ['Linux', 'Postgres'] },
      verified: byEmail && digest(key) % 3 === 0,
    }),
  };
}

function verdict(email: string): Record<string, unknown> {
  const results = ['deliverable', 'undeliverable', 'risky', 'unknown'] as const;
  return { email, result: results[digest(email) % results.length], confidence: digest(email) % 101, reason: 'accepted' };
}

function digest(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}
