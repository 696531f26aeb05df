/**
 * A stand-in of Hunter's API v2, written from what Hunter publishes, read on 2026-11-26:
 * https://hunter.io/api-documentation/v2, https://help.hunter.io/en/articles/1911617-how-do-credits-work-in-hunter
 * and https://help.hunter.io/en/articles/1970956-hunter-api.
 * The pages do not say the kind of window, nor the bodies of 202, 222, 403 and of a miss: those are chosen here.
 */
import { companyBody, finderBody, personBody, verifierBody, type VerifierStatus } from './hunter-records.ts';
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import type { StandInWindow } from './windows.ts';
import { findCompany, findPerson, type StandInPerson } from './world.ts';

export interface HunterOptions extends StandInOptions {
  /** How many times a verification answers 202 before its result. The default is 0. */
  readonly inProgress?: (email: string) => number;
}

const LOOKUP_WINDOWS: readonly StandInWindow[] = [
  { name: 'second', limit: 15 },
  { name: 'minute', limit: 500 },
];
const VERIFIER_WINDOWS: readonly StandInWindow[] = [
  { name: 'second', limit: 10 },
  { name: 'minute', limit: 300 },
];
const FINDER_CREDITS = 1;
const VERIFIER_CREDITS = 0.5;
const ENRICHMENT_CREDITS = 0.2;
/** The monthly credits of the plan Growth. */
const PLAN_CREDITS = 10_000;
/** Sums of 0.2 are not exact. */
const ROUNDING = 1e-9;

const STATUS_OF_VERDICT = { deliverable: 'valid', undeliverable: 'invalid', risky: 'accept_all', unknown: 'unknown' } as const;
/** Hunter charges these results only. */
const CHARGED: ReadonlySet<VerifierStatus> = new Set(['valid', 'invalid', 'accept_all']);
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const DOMAIN = /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/i;

/**
 * Starts the stand-in. Its routes are its paths: `/v2/email-finder`. Beside the people of the world, some local parts have a fixed answer:
 * `claimed` 451, `smtp-failure` 222, `webmail` and `disposable` their status. The name `Claimed` answers 451 in the finder.
 */
export function startHunter(options: HunterOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => {
    const hunter = new Hunter(options, book);
    return (call) => hunter.answer(call);
  });
}

interface Endpoint {
  readonly windows: readonly StandInWindow[];
  readonly credits: number;
  readonly answer: (query: URLSearchParams) => StandInReply;
}

class Hunter {
  readonly #options: HunterOptions;
  readonly #book: StandInBook;
  /** 202 answers still to give, by address. A finished verification stays at 0. */
  readonly #waiting = new Map<string, number>();
  /** Finds and verifications of this billing period: Hunter charges each of them once. */
  readonly #paid = new Set<string>();
  readonly #endpoints: Readonly<Record<string, Endpoint>> = {
    '/v2/email-finder': { windows: LOOKUP_WINDOWS, credits: FINDER_CREDITS, answer: (query) => this.#find(query) },
    '/v2/email-verifier': { windows: VERIFIER_WINDOWS, credits: VERIFIER_CREDITS, answer: (query) => this.#verify(query) },
    '/v2/people/find': { windows: LOOKUP_WINDOWS, credits: ENRICHMENT_CREDITS, answer: (query) => this.#enrich(query) },
    '/v2/companies/find': { windows: LOOKUP_WINDOWS, credits: ENRICHMENT_CREDITS, answer: (query) => this.#company(query) },
    '/v2/combined/find': { windows: LOOKUP_WINDOWS, credits: ENRICHMENT_CREDITS, answer: (query) => this.#combined(query) },
    '/v2/account': { windows: [], credits: 0, answer: () => this.#account() },
  };

  constructor(options: HunterOptions, book: StandInBook) {
    this.#options = options;
    this.#book = book;
  }

  answer({ method, path, query, headers }: StandInCall): StandInReply {
    const endpoint = method === 'GET' && Object.hasOwn(this.#endpoints, path) ? this.#endpoints[path] : undefined;
    if (endpoint === undefined) return refusal(404, 'not_found', "The requested resource couldn't be found.");
    const header = headers['x-api-key'] ?? /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    if ((query.get('api_key') ?? header) !== this.#book.apiKey) {
      return refusal(401, 'authentication_failed', 'No user found for the API key supplied');
    }
    if (endpoint.windows.length > 0 && this.#book.windows(path, endpoint.windows).take(this.#book.now()) !== null) {
      return refusal(403, 'too_many_requests', 'You have reached the rate limit.');
    }
    if (this.#book.balance < endpoint.credits - ROUNDING) {
      return refusal(429, 'too_many_requests', 'You have reached your usage limit. Upgrade your plan if necessary.');
    }
    return endpoint.answer(query);
  }

  #find(query: URLSearchParams): StandInReply {
    const given = (name: string): string | undefined => query.get(name) || undefined;
    const [handle, domain, company] = [given('linkedin_handle'), given('domain'), given('company')];
    const [firstName, lastName, name] = [given('first_name'), given('last_name'), given('full_name')];
    if (handle === undefined) {
      if (domain === undefined && company === undefined) return missing('domain');
      if (name === undefined && firstName === undefined) return missing('first_name');
      if (name === undefined && lastName === undefined) return missing('last_name');
    }
    for (const parameter of ['first_name', 'last_name', 'full_name']) {
      if (!/\p{L}/u.test(given(parameter) ?? 'a')) return invalid(parameter);
    }
    if (!DOMAIN.test(domain ?? 'a.aa')) return invalid('domain');
    const seconds = query.get('max_duration');
    if (seconds !== null && !(/^\d+$/.test(seconds) && Number(seconds) >= 3 && Number(seconds) <= 20)) return invalid('max_duration');
    if ([lastName, name].includes('Claimed')) return claimed();

    const byName = { firstName, lastName, name, domain, company: domain === undefined ? company : undefined };
    const index = findPerson(handle === undefined ? byName : { linkedinUrl: profileOf(handle) });
    const person = this.#book.find(index);
    const email = person?.email ?? '';
    this.#book.count(email !== '');
    if (email !== '') this.#chargeOnce('reveal', email, FINDER_CREDITS);
    return { status: 200, body: finderBody(email === '' ? null : person, query) };
  }

  #verify(query: URLSearchParams): StandInReply {
    const email = query.get('email') ?? '';
    if (email === '') return missing('email');
    if (!EMAIL.test(email)) return invalid('email');
    const key = email.toLowerCase();
    const localPart = key.slice(0, key.indexOf('@'));
    const nothing = { data: {}, meta: { params: { email } } };
    if (localPart === 'claimed') return claimed();
    if (localPart === 'smtp-failure') return { status: 222, body: nothing };
    const left = this.#waiting.get(key) ?? this.#options.inProgress?.(email) ?? 0;
    if (left > 0) {
      this.#waiting.set(key, left - 1);
      return { status: 202, body: nothing };
    }
    const status = this.#statusOf(key, localPart);
    if (CHARGED.has(status)) this.#chargeOnce('verify', key, VERIFIER_CREDITS);
    return { status: 200, body: verifierBody(email, status) };
  }

  #statusOf(email: string, localPart: string): VerifierStatus {
    if (localPart === 'webmail' || localPart === 'disposable') return localPart;
    const person = this.#book.look(findPerson({ email }));
    return person === null ? 'unknown' : (STATUS_OF_VERDICT[person.verdict] ?? 'unknown');
  }

  #enrich(query: URLSearchParams): StandInReply {
    const handle = query.get('linkedin_handle') ?? '';
    const email = query.get('email') ?? '';
    if (handle === '' && email === '') return missing('email');
    if (handle === '' && !EMAIL.test(email)) return invalid('email');
    if (email.startsWith('claimed@')) return claimed();
    const person = this.#book.look(findPerson(handle === '' ? { email } : { linkedinUrl: profileOf(handle) }));
    if (person === null) return notFound();
    this.#book.charge('enrich', person.email || email || handle, ENRICHMENT_CREDITS);
    return { status: 200, body: { data: personBody(person), meta: handle === '' ? { email } : { linkedin_handle: handle } } };
  }

  #combined(query: URLSearchParams): StandInReply {
    const email = query.get('email') ?? '';
    if (email === '') return missing('email');
    if (!EMAIL.test(email)) return invalid('email');
    if (email.startsWith('claimed@')) return claimed();
    const person = this.#book.look(findPerson({ email }));
    if (person === null) return notFound();
    this.#book.charge('enrich', email.toLowerCase(), ENRICHMENT_CREDITS);
    return { status: 200, body: { data: { person: personBody(person), company: this.#companyOf(person) }, meta: { email } } };
  }

  #companyOf(person: StandInPerson): object | null {
    const company = this.#book.findCompany(findCompany({ domain: person.domain }));
    return company === null ? null : companyBody(company);
  }

  #company(query: URLSearchParams): StandInReply {
    const domain = query.get('domain') ?? '';
    if (domain === '') return missing('domain');
    const company = this.#book.findCompany(findCompany({ domain }));
    this.#book.count(company !== null);
    if (company === null) return notFound();
    this.#book.charge('company', company.domain, ENRICHMENT_CREDITS);
    return { status: 200, body: { data: companyBody(company), meta: { domain } } };
  }

  #account(): StandInReply {
    const { charged: used } = this.#book.counts;
    const requests = { credits: { used, available: this.#options.credits ?? PLAN_CREDITS } };
    return { status: 200, body: { data: { plan_name: 'Growth', plan_level: 2, reset_date: '2026-12-11', requests } } };
  }

  #chargeOnce(operation: string, key: string, credits: number): void {
    const name = `${operation} ${key}`;
    if (this.#paid.has(name)) return;
    this.#paid.add(name);
    this.#book.charge(operation, key, credits);
  }
}

const profileOf = (handle: string): string => `https://www.linkedin.com/in/${handle}`;

function refusal(code: number, id: string, details: string, isMiss = false): StandInReply {
  return { status: code, body: { errors: [{ id, code, details }] }, isMiss };
}

const missing = (parameter: string): StandInReply => refusal(400, 'wrong_params', `You are missing the ${parameter} parameter`);
const invalid = (parameter: string): StandInReply => refusal(400, `invalid_${parameter}`, `The supplied ${parameter} is invalid`);
const notFound = (): StandInReply => refusal(404, 'not_found', "The requested resource couldn't be found.", true);
const claimed = (): StandInReply =>
  refusal(451, 'claimed_email', 'We have been requested not to process personal data linked to this person.');
