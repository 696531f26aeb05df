/** Use case: enriches a person or a company, from an address, a name or an id to the whole record. */
import type { Charge } from '../accounts/charging.ts';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { ServiceError } from '../http/problem.ts';
import { freshVerdict, VERDICT_CREDITS, type FreshVerdictDependencies } from './fresh-verdict.ts';
import { findCompany, findPerson, readLookup, type PersonLookup } from './find-person.ts';
import { ENRICH_BODY, ENRICH_FORMS } from './enrich-operations.ts';
import { completePerson, recordText, type CompleteRecord, type Match, type SparseRecord } from '../records/whole-record.ts';
import type { Named } from '../store/identity/named-people.ts';
import type { PersonRow } from '../store/rows/person-row.ts';
import { BodyReader } from '../http/body-reader.ts';
import { checkWebhookUrl, readWebhookUrl } from '../webhooks/url.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

/** A hit costs this, a miss nothing. */
const HIT_CREDITS = 1;
const ENRICHED = 'enrichment.completed';

interface Options {
  readonly minLikelihood: number;
  readonly required: readonly string[];
  readonly fields: readonly string[] | null;
  /** A fresh verdict on the address is wanted. */
  readonly verify: boolean;
}

export interface EnrichDependencies extends FreshVerdictDependencies {
  readonly webhooks: Pick<Webhooks, 'isDevelopment' | 'wants' | 'collect'>;
}

/**
 * Prepares the webhook event of a hit. The function that is returned puts the event into the outbox, with the charge that pays for it; it
 * does nothing where no webhook wants it. Call it when the whole answer is there: the journal soon writes what is in the outbox.
 * @param read the record that was answered
 */
export function enrichmentEvent(dependencies: EnrichDependencies, charge: Charge, body: unknown, read: () => SparseRecord): () => void {
  const { webhooks } = dependencies;
  const { keyId } = charge;
  const { webhook_url: url } = body as { readonly webhook_url?: string | null };
  if (!webhooks.wants(keyId, ENRICHED, url ?? null)) return () => undefined;
  const data = read();
  // The person's id is not always among the fields that were asked for.
  const { id: person } =
    data['id'] === undefined
      ? (JSON.parse(
          (enrichOne(dependencies, { ...(body as object), fields: ['id'], verify: false }) as EndpointAnswer).text,
        ) as SparseRecord)
      : data;
  const webhookUrl = typeof url === 'string' ? checkWebhookUrl(url, webhooks.isDevelopment) : null;
  return () =>
    charge.commitWith(webhooks.collect({ type: ENRICHED, keyId, data, webhookUrl }, { signal: null, person: person as string | null }));
}

/**
 * Enriches by one body of the request: at once, unless a fresh verdict on the address is to be waited for.
 * @throws ServiceError for every answer of 400 and above
 */
export function enrichOne(dependencies: EnrichDependencies, body: unknown): EndpointAnswer | Promise<EndpointAnswer> {
  const { directory, webhooks } = dependencies;
  const { lookup, options } = readRequest(body, webhooks.isDevelopment);
  if (lookup.by === 'domain') {
    const company = findCompany(directory, lookup.value);
    if (company === null) throw noMatch('no company is known by this domain');
    return answer(matched(null, company, { matchedOn: ['domain'], likelihood: null }, options), company, options, {});
  }
  const { row, match } = findPerson(directory, lookup);
  const company = directory.companyOf(row);
  const named = { people: [row.id] };
  // Nearly every request: stored texts are joined without being parsed.
  if (isPlain(options)) return { status: 200, text: row.text(match, company), credits: HIT_CREDITS, named };
  const person = matched(row, company, match, options);
  const { email } = person;
  return options.verify && typeof email === 'string'
    ? answerVerified(dependencies, email, person, company, options, named)
    : answer(person, company, options, named);
}

function readRequest(body: unknown, isDevelopment: boolean): { lookup: PersonLookup; options: Options } {
  const reader = new BodyReader(body, ENRICH_BODY);
  readWebhookUrl(reader, isDevelopment);
  const lookup = readLookup(reader, ENRICH_FORMS);
  const options: Options = {
    minLikelihood: reader.get('min_likelihood') ?? 0,
    required: reader.get('required') ?? [],
    fields: reader.get('fields'),
    verify: reader.get('verify') ?? false,
  };
  reader.finish();
  // `finish` has thrown unless there is one good lookup.
  return { lookup: lookup as PersonLookup, options };
}

/** Whether the whole record is wanted, whatever is in it. */
function isPlain({ minLikelihood, required, fields, verify }: Options): boolean {
  return minLikelihood === 0 && required.length === 0 && fields === null && !verify;
}

/** @throws ServiceError when it is not what was asked for */
function matched(row: PersonRow | null, company: string | null, match: Match, options: Options): CompleteRecord {
  if (match.likelihood !== null && match.likelihood < options.minLikelihood)
    throw noMatch(`the best match has a likelihood of ${match.likelihood}`);
  const person = completePerson(row?.person ?? null, match);
  const missing = options.required.find((field) => (field === 'company' ? company === null : person[field] === null));
  if (missing !== undefined) throw noMatch(`what was found has no ${missing}, which is required`);
  return person;
}

function answer(person: CompleteRecord, company: string | null, { fields }: Options, named: Named): EndpointAnswer {
  return { status: 200, text: recordText(person, company, fields), credits: HIT_CREDITS, named };
}

async function answerVerified(
  dependencies: FreshVerdictDependencies,
  email: string,
  person: CompleteRecord,
  company: string | null,
  options: Options,
  named: Named,
): Promise<EndpointAnswer> {
  const verdict = await freshVerdict(dependencies, email);
  const found = answer({ ...person, ...verdict }, company, options, named);
  return verdict === null ? found : { ...found, credits: found.credits + VERDICT_CREDITS };
}

function noMatch(detail: string): ServiceError {
  return new ServiceError('no_match', detail);
}
