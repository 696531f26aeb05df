/**
 * The services of the golden files: three hosts behind one HTTP proxy, so that their addresses are the same in every run.
 * Each answer follows from the request alone, or from how often an address was asked for. The log has what was sent, in order.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cleanUp } from '../support/clean-up.ts';

export const DATA = 'http://data.golden.example';

/** A request as it was sent. */
export interface Sent {
  /** `POST http://data.golden.example/v1/enrich` */
  readonly call: string;
  readonly idempotencyKey: string | null;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Decides before the usual answer: `hold` never answers, null leaves it to the usual answer. */
export type Fault = (sent: Sent, number: number) => 'hold' | Reply | null;

type Body = Readonly<Record<string, unknown>>;

const problem = (status: number, code: string): Reply => ({
  status,
  body: { type: 'about:blank', title: code, status, code, detail: `says ${code}` },
});
const NOT_YET = {
  result: 'unknown',
  reason: 'greylisted',
  confidence: 0,
  verified_at: '2026-01-02T03:04:05.000Z',
  retry_at: '2026-01-02T03:04:05.100Z',
};
const VERDICTS = ['deliverable', 'undeliverable', 'risky'] as const;

function numberOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

export class Vendors {
  /** Everything that was sent, in order of arrival. */
  readonly sent: Sent[] = [];
  fault: Fault = () => null;
  /** How often each address, lookup or ticket was asked for. */
  readonly asked = new Map<string, number>();
  #held = 0;
  #waiting: { readonly until: () => boolean; readonly resolve: () => void }[] = [];
  readonly #server = createServer((request, response) => void this.#take(request, response));

  static async start(): Promise<Vendors> {
    const vendors = new Vendors();
    vendors.#server.listen(0, '127.0.0.1');
    await once(vendors.#server, 'listening');
    cleanUp(async () => {
      const closed = once(vendors.#server, 'close');
      vendors.#server.close();
      vendors.#server.closeAllConnections();
      await closed;
    });
    return vendors;
  }

  /** The environment of a command that reaches the services. */
  get env(): Record<string, string> {
    return { HTTP_PROXY: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
  }

  /** Requests without an answer. */
  get held(): number {
    return this.#held;
  }

  /** Resolves as soon as `until` holds; it is checked at each request. */
  when(until: () => boolean): Promise<void> {
    if (until()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ until, resolve }));
  }

  /** How often it was asked for, this time included. */
  #timesOf(what: string): number {
    const times = (this.asked.get(what) ?? 0) + 1;
    this.asked.set(what, times);
    return times;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = request.headers['idempotency-key'];
    const sent: Sent = {
      call: `${request.method} ${request.url}`,
      idempotencyKey: typeof key === 'string' ? key : null,
      body: Buffer.concat(chunks).toString(),
    };
    this.sent.push(sent);
    const fault = this.fault(sent, this.sent.length);
    if (fault === 'hold') this.#held++;
    else this.#answer(response, fault ?? this.#usual(sent));
    this.#waiting = this.#waiting.filter(({ until, resolve }) => {
      if (!until()) return true;
      resolve();
      return false;
    });
  }

  #answer(response: ServerResponse, { status, body }: Reply): void {
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'content-type': type, 'x-credits-charged': status === 200 ? '1' : '0' });
    response.end(JSON.stringify(body));
  }

  #usual({ call, body }: Sent): Reply {
    const { host, pathname, searchParams } = new URL(call.slice(call.indexOf(' ') + 1));
    const asked = body === '' ? {} : (JSON.parse(body) as Body);
    const path = decodeURIComponent(pathname);
    if (host === 'data.golden.example') return this.#data(path, asked);
    if (host !== 'late.golden.example') return this.#batch(path, asked);
    return path.startsWith('/batches') ? this.#lateBatch(path, searchParams.get('page'), asked) : this.#late(path, asked);
  }

  /** The service of the specification. */
  #data(path: string, asked: Body): Reply {
    if (path === '/v1/emails/verify') return this.#verify(asked['emails'] as string[]);
    if (path.startsWith('/v1/companies/')) return { status: 200, body: companyOf(path.slice('/v1/companies/'.length)) };
    const { refusal, key } = lookedUp(asked);
    if (refusal !== null) return refusal;
    if (path === '/v1/contacts/reveal') return { status: 200, body: contactOf(key) };
    return { status: 200, body: personOf(key, asked['email'] !== undefined) };
  }

  /** `left` is left out of the first answer, `lost` of each one. `late` has its verdict at the second request, `never` not at all. */
  #verify(emails: readonly string[]): Reply {
    if (emails.some((email) => email.startsWith('bad'))) return problem(422, 'validation_failed');
    const data = emails.flatMap((email) => {
      const times = this.#timesOf(email);
      if (isLeftOut(email, times)) return [];
      if (email.startsWith('never') || (email.startsWith('late') && times === 1)) return [{ email, ...NOT_YET }];
      return [{ email, ...verdictOf(email) }];
    });
    return { status: 200, body: { data } };
  }

  /** The first answer is a ticket, the second one says "not yet". */
  #late(path: string, { email }: Body): Reply {
    if (typeof email === 'string') return { status: 202, body: { ticket: `ticket-of-${email}`, credits: 1 } };
    const ticket = path.slice('/lookups/'.length);
    if (this.#timesOf(ticket) === 1) return { status: 202, body: { ticket, credits: 0 } };
    const key = ticket.slice('ticket-of-'.length);
    return { status: 200, body: key.startsWith('miss') ? { credits: 0 } : { credits: 0, person: personOf(key, true) } };
  }

  /** The first answer is a ticket. Each page has two people, and is there at the first poll: a recorded promise is old. */
  #lateBatch(path: string, page: string | null, { emails }: Body): Reply {
    if (Array.isArray(emails)) return { status: 202, body: { ticket: `ticket-of-${emails.join('+')}` } };
    const ticket = path.slice('/batches/'.length);
    const all = ticket.slice('ticket-of-'.length).split('+');
    const from = Number(page ?? 0);
    const people = all.slice(from, from + 2).map((email, at) => ({
      number: from + at,
      ...(email.startsWith('miss') ? {} : { person: personOf(email, true) }),
    }));
    return { status: 200, body: { people, ...(from + 2 < all.length ? { next: from + 2 } : {}) } };
  }

  #batch(path: string, asked: Body): Reply {
    const { people } = asked;
    if (path === '/v2/people/batch') {
      // A list of one is the entry itself.
      const lookups = [people].flat() as Body[];
      if (lookups.some(({ email }) => String(email).startsWith('bad'))) return problem(422, 'validation_failed');
      const entries = lookups.filter(({ email }) => !isLeftOut(String(email), this.#timesOf(`person ${String(email)}`)));
      return { status: 200, body: { people: entries.map((one) => ({ id: one['id'], ...batchEntry(one) })).reverse() } };
    }
    if (path === '/v2/checks/batch') {
      const emails = asked['emails'] as string[];
      const checks = emails.flatMap((email, number) => {
        const { result, confidence } = verdictOf(email);
        return isLeftOut(email, this.#timesOf(`check ${email}`)) ? [] : [{ number, verdict: result, score: confidence, why: 'checked' }];
      });
      return { status: 200, body: { checks, credits: emails.length } };
    }
    if (path.startsWith('/v2/companies/')) {
      const company = companyOf(path.slice('/v2/companies/'.length));
      return { status: 200, body: company === null ? {} : { company, credits: 1 } };
    }
    const { status, ...body } = batchEntry(asked);
    const profile = (body as { person?: { key: string } }).person?.key;
    return {
      status,
      body:
        path === '/v2/contacts' && profile !== undefined
          ? { person: { ...contactOf(profile), profile: asked['profile'] }, credits: 2 }
          : body,
    };
  }
}

function isLeftOut(email: string, times: number): boolean {
  return email.startsWith('lost') || (email.startsWith('left') && times === 1);
}

function batchEntry(asked: Body): { readonly status: number } & Body {
  const { refusal, key } = lookedUp(asked);
  if (refusal?.status === 404) return { status: 200, credits: 0 };
  if (refusal !== null) return { status: refusal.status, code: (refusal.body as Body)['code'] };
  // It knows no title, and only a part of the people.
  const { title: _title, ...person } = personOf(key, asked['email'] !== undefined);
  return { status: 200, credits: 1, person: { key, ...person } };
}

/** The key of a lookup, and the refusal that the first word of the key asks for. */
function lookedUp(asked: Body): { readonly key: string; readonly refusal: Reply | null } {
  const {
    email,
    linkedin_url,
    profile = linkedin_url,
    phone,
    name,
    domain,
    company_domain,
    company,
  } = asked as Readonly<Record<string, string | undefined>>;
  const place = company_domain ?? domain ?? company ?? '';
  const key = email ?? profile ?? phone ?? (name === undefined ? place : `${name} of ${place}`);
  const word = /^(?:https:.*\/)?(miss|gone|refused|bad|nobody)/.exec(key)?.[1];
  // A miss that names no code, as a gateway's 404 does.
  if (word === 'nobody') return { key, refusal: { status: 404, body: { message: 'nobody is known' } } };
  if (word === 'miss') return { key, refusal: problem(404, 'no_match') };
  if (word === 'gone') return { key, refusal: problem(451, 'suppressed_person') };
  return { key, refusal: word === undefined ? null : problem(422, 'validation_failed') };
}

function personOf(key: string, byEmail: boolean): Body {
  const n = numberOf(key);
  const isDomain = !byEmail && /^[^@/ +]+$/.test(key);
  return {
    email: isDomain ? null : byEmail ? key : `found-${n % 1_000}@found.example`,
    name: isDomain ? null : `Name of ${key}`,
    title: isDomain ? null : `Title ${n % 97}, "first"`,
    company: { name: `Company ${n % 89}`, employees: n % 5_000, revenue: '$12M', stack: ['Linux', 'Postgres'] },
    verified: !isDomain && n % 3 === 0,
  };
}

function companyOf(domain: string): Body | null {
  const n = numberOf(domain);
  if (domain.startsWith('rho')) return null;
  return { domain, name: `Company of ${domain}`, employees: n % 5_000, revenue: '$9M', industry: 'Tools', stack: ['Go', 'Redis'] };
}

function contactOf(key: string): Body {
  const n = numberOf(key);
  return {
    email: `revealed-${n % 1_000}@revealed.example`,
    mobile: `+1212555${String(n % 10_000).padStart(4, '0')}`,
    linkedin_url: `https://www.linkedin.com/in/n${n % 1_000}`,
  };
}

function verdictOf(email: string): { readonly result: string; readonly confidence: number; readonly reason: string } {
  const n = numberOf(email);
  return {
    result: email.startsWith('unsure') ? 'unknown' : (VERDICTS[n % VERDICTS.length] as string),
    confidence: n % 101,
    reason: 'accepted',
  };
}
