/**
 * FullEnrich as its pages api/v2 show it (read on 2026-11-28): up to 100 contacts in one request, an id, and results by that id. Asked too
 * early, it answers 400 `error.enrichment.in_progress`. A credit is taken for each address that is found, when it is found.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import { findPerson, type StandInPerson } from './world.ts';

export interface FullEnrichOptions extends StandInOptions {
  /** Milliseconds from the request to its results. The default is 0. */
  readonly takesMs?: number;
}

const MAX_CONTACTS = 100;
const RATE = [{ name: 'minute', limit: 60 }] as const;
const FIELDS: ReadonlySet<string> = new Set(['contact.work_emails', 'contact.personal_emails', 'contact.phones']);
const PATH = '/api/v2/contact/enrich/bulk';

export function startFullEnrich(options: FullEnrichOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => {
    const vendor = new FullEnrich(options, book);
    return (call) => vendor.answer(call);
  });
}

interface Contact {
  readonly first_name?: string;
  readonly last_name?: string;
  readonly domain?: string;
  readonly company_name?: string;
  readonly linkedin_url?: string;
  readonly enrich_fields?: readonly string[];
  readonly custom?: Readonly<Record<string, string>>;
}

interface Enrichment {
  readonly id: string;
  readonly name: string;
  readonly contacts: readonly Contact[];
  readonly readyAt: number;
  /** The results, after they were read for the first time. */
  result: StandInReply | null;
}

class FullEnrich {
  readonly #options: FullEnrichOptions;
  readonly #book: StandInBook;
  readonly #enrichments = new Map<string, Enrichment>();

  constructor(options: FullEnrichOptions, book: StandInBook) {
    this.#options = options;
    this.#book = book;
  }

  answer(call: StandInCall): StandInReply {
    const { authorization } = call.headers;
    if (authorization === undefined) return refused(401, 'error.authorization.not_set', 'Authorization headers not set');
    if (authorization !== `Bearer ${this.#book.apiKey}`) return refused(401, 'error.api.key', 'Unknown api key');
    if (this.#book.windows(call.method === 'GET' ? 'results' : 'all', RATE).take(this.#book.now()) !== null)
      return refused(429, 'error.rate.limit', 'Too many requests. Try again in 1m');
    if (call.method === 'POST' && call.path === PATH) return this.#start(call.body as { name?: string; data?: readonly Contact[] });
    if (call.method === 'GET' && call.path.startsWith(`${PATH}/`))
      return this.#results(decodeURIComponent(call.path.slice(PATH.length + 1)));
    return { status: 404, body: '404 page not found' };
  }

  #start({ name, data }: { readonly name?: string; readonly data?: readonly Contact[] } = {}): StandInReply {
    if (name === undefined || name === '') return refused(400, 'error.enrichment.name.empty', 'Enrichment name not set');
    if (data === undefined || data.length === 0) return refused(400, 'error.enrichment.data.empty', 'Data is empty');
    if (data.length > MAX_CONTACTS)
      return refused(400, 'error.enrichment.data.exceeded', `Data contains too many contacts (max: ${MAX_CONTACTS})`);
    for (const contact of data) {
      const fault = faultOf(contact);
      if (fault !== null) return fault;
    }
    const id = `enrichment-${this.#enrichments.size + 1}`;
    const readyAt = this.#book.now() + (this.#options.takesMs ?? 0);
    this.#enrichments.set(id, { id, name, contacts: data, readyAt, result: null });
    return { status: 200, body: { enrichment_id: id } };
  }

  #results(id: string): StandInReply {
    const enrichment = this.#enrichments.get(id);
    if (enrichment === undefined) return { ...refused(404, 'error.enrichment.not_found', 'Enrichment ID not found') };
    if (this.#book.now() < enrichment.readyAt)
      return refused(400, 'error.enrichment.in_progress', 'Enrichment not ready, try again in 30 seconds');
    return (enrichment.result ??= this.#finish(enrichment));
  }

  /** A found address is charged once, however often the results are read. */
  #finish({ id, name, contacts }: Enrichment): StandInReply {
    let credits = 0;
    let isOut = false;
    const data = contacts.map(({ custom, ...contact }) => {
      const person = this.#book.look(
        findPerson({
          linkedinUrl: contact.linkedin_url,
          firstName: contact.first_name,
          lastName: contact.last_name,
          domain: contact.domain,
          company: contact.company_name,
        }),
      );
      const input = inputOf(contact);
      if (person === null || person.email === '') return { input, custom, contact_info: {}, profile: {} };
      if (this.#book.balance < 1) {
        isOut = true;
        return { input, custom, contact_info: {}, profile: {} };
      }
      this.#book.charge('enrich', person.email);
      credits++;
      return { input, custom, contact_info: contactOf(person), profile: profileOf(person) };
    });
    const body = { id, name, status: isOut ? 'CREDITS_INSUFFICIENT' : 'FINISHED', cost: { credits }, data };
    return { status: isOut ? 402 : 200, body };
  }
}

function faultOf({
  first_name,
  last_name,
  domain,
  company_name,
  linkedin_url,
  enrich_fields = [],
  custom = {},
}: Contact): StandInReply | null {
  if (linkedin_url === undefined) {
    if (!first_name) return refused(400, 'error.enrichment.first_name.empty', 'First name cannot be empty');
    if (!last_name) return refused(400, 'error.enrichment.last_name.empty', 'Last name cannot be empty');
    if (!domain && !company_name) return refused(400, 'error.enrichment.domain.empty', 'Domain cannot be empty');
  }
  if (enrich_fields.length === 0) return refused(400, 'error.enrichment.enrich_fields.empty', 'enrichFields cannot be empty');
  if (enrich_fields.some((field) => !FIELDS.has(field)))
    return refused(
      400,
      'error.enrichment.enrich_field.value',
      "enrichField 'xxxx' not valid must be contact.work_emails or contact.phones or contact.personal_emails",
    );
  if (Object.keys(custom).length > 10)
    return refused(400, 'error.enrichment.custom.key.exceeded', 'Custom field contains too many keys (max: 10 keys)');
  if (Object.values(custom).some((value) => typeof value !== 'string' || value.length > 100))
    return refused(400, 'error.enrichment.custom.value.exceeded', 'Custom field value max len exceeded (max: 100 character)');
  return null;
}

const refused = (status: number, code: string, message: string): StandInReply => ({ status, body: { code, message } });

function inputOf({ first_name, last_name, domain, company_name, linkedin_url }: Contact): object {
  return { first_name, last_name, company_domain: domain, company_name, professional_network_url: linkedin_url };
}

function contactOf({ email }: StandInPerson): object {
  const found = { email, status: 'DELIVERABLE' };
  return { most_probable_work_email: found, work_emails: [found] };
}

function profileOf({ firstName, lastName, title, company, domain, linkedinUrl, employees }: StandInPerson): object {
  return {
    full_name: `${firstName} ${lastName}`,
    first_name: firstName,
    last_name: lastName,
    social_profiles: { professional_network: { url: linkedinUrl } },
    employment: { current: { title, is_current: true, company: { name: company, domain, headcount: employees } } },
  };
}
