/** POST /v1/enrich: what somebody is known by in, the whole record out. */
import { onUndo } from '../api-route.ts';
import type { Answer, Call, Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { freshVerdict, VERDICT_CREDITS, type Verifying } from '../fresh-verdict.ts';
import type { ActiveKey } from '../key-ring.ts';
import { findCompany, findPerson, readLookup, type Lookup } from '../lookup.ts';
import { ENRICH_BODY, ENRICH_FORMS } from '../operations/enrich.ts';
import { fillPerson, recordText, type Filled, type Match, type SparseRecord } from '../records.ts';
import type { Named } from '../store/named.ts';
import type { PersonRow } from '../store/person-row.ts';
import { BodyReader } from '../validate.ts';
import { checkWebhookUrl, readWebhookUrl } from '../webhooks/url.ts';

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

type Enriching = Verifying & Pick<ServiceContext, 'webhooks'>;

export function enrichEndpoint(context: Enriching): Endpoint {
  return (body, { call }) => {
    const found = enrichOne(context, body);
    const announced = (answer: Answer): Answer => {
      announcementOf(context, call, body, () => JSON.parse(answer.text) as SparseRecord)();
      return answer;
    };
    return found instanceof Promise ? found.then(announced) : announced(found);
  };
}

/**
 * What has those told of a hit who want to be, once it is paid for and written down; it does nothing where nobody does. It is to be called when the whole answer is there:
 * what is collected is written before long, whatever becomes of the rest. @param read the record that was answered
 */
export function announcementOf(context: Enriching, call: Call, body: unknown, read: () => SparseRecord): () => void {
  const { id: keyId } = call.key as ActiveKey;
  const { webhook_url: url } = body as { readonly webhook_url?: string | null };
  if (!context.webhooks.wants(keyId, ENRICHED, url ?? null)) return () => undefined;
  const data = read();
  // Whom it is about is not always among the fields that were asked for.
  const { id: person } = data['id'] === undefined ? (JSON.parse((enrichOne(context, { ...(body as object), fields: ['id'], verify: false }) as Answer).text) as SparseRecord) : data;
  const webhookUrl = typeof url === 'string' ? checkWebhookUrl(url, context.webhooks.isDevelopment) : null;
  return () => {
    call.owing = true;
    onUndo(call, context.webhooks.collect({ type: ENRICHED, keyId, data, webhookUrl }, { signal: null, person: person as string | null }));
  };
}

/** Enriches by one body of the request: at once, unless a fresh verdict on the address is to be waited for. @throws ServiceError for every answer of 400 and above */
export function enrichOne(context: Enriching, body: unknown): Answer | Promise<Answer> {
  const { directory, webhooks } = context;
  const { lookup, options } = readRequest(body, webhooks.isDevelopment);
  if (lookup.by === 'domain') {
    const company = findCompany(directory, lookup.value);
    if (company === null) throw noMatch('no company is known by this domain');
    return answer(matched(null, company, { matchedOn: ['domain'], likelihood: null }, options), company, options, {});
  }
  const { row, match } = findPerson(directory, lookup);
  const company = directory.companyOf(row);
  const named = { people: [row.id] };
  // As nearly everybody asks: the kept texts are joined, and nothing in them has to be read.
  if (isPlain(options)) return { status: 200, text: row.text(match, company), credits: HIT_CREDITS, named };
  const person = matched(row, company, match, options);
  const { email } = person;
  return options.verify && typeof email === 'string' ? answerVerified(context, email, person, company, options, named) : answer(person, company, options, named);
}

function readRequest(body: unknown, isDevelopment: boolean): { lookup: Lookup; options: Options } {
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
  return { lookup: lookup as Lookup, options };
}

/** Whether the whole record is wanted, whatever is in it. */
function isPlain({ minLikelihood, required, fields, verify }: Options): boolean {
  return minLikelihood === 0 && required.length === 0 && fields === null && !verify;
}

/** @throws ServiceError when it is not what was asked for */
function matched(row: PersonRow | null, company: string | null, match: Match, options: Options): Filled {
  if (match.likelihood !== null && match.likelihood < options.minLikelihood) throw noMatch(`the best match has a likelihood of ${match.likelihood}`);
  const person = fillPerson(row?.person ?? null, match);
  const missing = options.required.find((field) => (field === 'company' ? company === null : person[field] === null));
  if (missing !== undefined) throw noMatch(`what was found has no ${missing}, which is required`);
  return person;
}

function answer(person: Filled, company: string | null, { fields }: Options, named: Named): Answer {
  return { status: 200, text: recordText(person, company, fields), credits: HIT_CREDITS, named };
}

async function answerVerified(context: Verifying, email: string, person: Filled, company: string | null, options: Options, named: Named): Promise<Answer> {
  const verdict = await freshVerdict(context, email);
  const found = answer({ ...person, ...verdict }, company, options, named);
  return verdict === null ? found : { ...found, credits: found.credits + VERDICT_CREDITS };
}

function noMatch(detail: string): ServiceError {
  return new ServiceError('no_match', detail);
}
