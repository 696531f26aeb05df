/**
 * Dropcontact as its pages show it (read on 2026-11-28): up to 250 records in one request, an id, and results by that id. Credits are taken
 * with the request, and given back for records without an address. An unknown id and results that are not ready get the same answer.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import { findPerson, type StandInPerson } from './world.ts';

export interface DropcontactOptions extends StandInOptions {
  /** Milliseconds from the request to its results. The default is 0. */
  readonly takesMs?: number;
}

const MAX_RECORDS = 250;
const RATE = [{ name: 'second', limit: 60 }] as const;
const PATH = '/v1/enrich/all';
const NOT_READY = 'Request not ready yet, try again in 30 seconds';

export function startDropcontact(options: DropcontactOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => {
    const vendor = new Dropcontact(options, book);
    return (call) => vendor.answer(call);
  });
}

interface DropcontactRecord {
  readonly first_name?: string;
  readonly last_name?: string;
  readonly email?: string;
  readonly website?: string;
  readonly company?: string;
  readonly linkedin?: string;
  readonly custom_fields?: Readonly<Record<string, string>>;
}

interface Batch {
  readonly records: readonly DropcontactRecord[];
  readonly readyAt: number;
  results: readonly object[] | null;
}

class Dropcontact {
  readonly #options: DropcontactOptions;
  readonly #book: StandInBook;
  readonly #batches = new Map<string, Batch>();

  constructor(options: DropcontactOptions, book: StandInBook) {
    this.#options = options;
    this.#book = book;
  }

  answer(call: StandInCall): StandInReply {
    if (call.headers['x-access-token'] !== this.#book.apiKey) return refused(401, 'Invalid access token');
    if (this.#book.windows('all', RATE).take(this.#book.now()) !== null) return refused(429, 'Too Many Requests');
    if (call.method === 'POST' && call.path === PATH)
      return this.#take((call.body as { data?: readonly DropcontactRecord[] } | undefined)?.data);
    if (call.method === 'GET' && call.path.startsWith(`${PATH}/`))
      return this.#results(decodeURIComponent(call.path.slice(PATH.length + 1)));
    return { status: 404, body: { detail: 'Not Found' } };
  }

  #take(records: readonly DropcontactRecord[] = []): StandInReply {
    if (records.length === 0) return refused(400, 'Missing data in JSON');
    if (records.length > MAX_RECORDS) return refused(400, `Too many records, you can only submit up to ${MAX_RECORDS} records`);
    if (this.#book.balance < records.length) return refused(403, 'Not enough credits');
    for (const record of records) this.#book.charge('enrich', nameOf(record));
    const id = `request${this.#batches.size + 1}`;
    this.#batches.set(id, { records, readyAt: this.#book.now() + (this.#options.takesMs ?? 0), results: null });
    return { status: 200, body: { credits_left: this.#left, request_id: id, error: false, success: true } };
  }

  #results(id: string): StandInReply {
    const batch = this.#batches.get(id);
    if (batch === undefined || this.#book.now() < batch.readyAt)
      return { status: 200, body: { error: false, success: false, reason: NOT_READY } };
    batch.results ??= batch.records.map((record) => this.#result(record));
    return { status: 200, body: { data: batch.results, credits_left: this.#left, error: false, success: true } };
  }

  /** A record without an address gives its credit back, unless an address was sent for verification. */
  #result(record: DropcontactRecord): object {
    const { first_name: firstName, last_name: lastName, email, website, company, linkedin, custom_fields } = record;
    const person = this.#book.look(findPerson({ email, linkedinUrl: linkedin, firstName, lastName, domain: website, company }));
    if (person !== null && person.email !== '') return { ...resultOf(person), custom_fields };
    if (email === undefined) this.#book.giveBack(1);
    return { first_name: firstName, last_name: lastName, company, custom_fields };
  }

  get #left(): number {
    return Number.isFinite(this.#book.balance) ? this.#book.balance : 15_000;
  }
}

const refused = (status: number, reason: string): StandInReply => ({ status, body: { error: true, reason, success: false } });

function nameOf({ email, linkedin, first_name, last_name, website, company }: DropcontactRecord): string {
  return email ?? linkedin ?? `${first_name} ${last_name} ${website ?? company}`;
}

function resultOf({ email, firstName, lastName, title, company, domain, linkedinUrl, employees }: StandInPerson): object {
  return {
    civility: 'M',
    first_name: firstName,
    last_name: lastName,
    full_name: `${firstName} ${lastName}`,
    email: [{ email, qualification: 'nominative@pro' }],
    company,
    website: domain,
    linkedin: linkedinUrl,
    nb_employees: String(employees),
    job: title,
  };
}
