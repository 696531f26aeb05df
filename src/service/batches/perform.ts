/** What is done with lines: the same functions that answer the operations' own calls. */
import { isDamage } from '../../sqlite/system-code.ts';
import { ServiceError } from '../errors.ts';
import { COMPANY_CREDITS, companyByAny } from '../routes/companies.ts';
import { enrichOne } from '../routes/enrich.ts';
import { revealOne } from '../routes/reveal.ts';
import type { Answer, ServiceContext } from '../context.ts';
import { verdictCredits, verifyAll } from '../routes/verify.ts';
import { SUPPRESSED_REASON, suppressedPerson, type AddressResult } from '../suppressed-result.ts';
import { isSettled } from '../idempotency.ts';
import type { VerifyMode } from '../../verification/types.ts';
import { LOOKUP_FIELDS } from '../lookup.ts';
import type { Body } from '../openapi/schema.ts';
import { damaged } from '../unwritten.ts';
import { BodyReader } from '../validate.ts';
import type { Line } from './lines.ts';
import { callOptions, type BatchRequest } from './request.ts';

/** What became of a line: JSON of its record, or why there is none. `person`: whose record it is, where the record does not say. */
export interface Outcome {
  readonly customId: string | null;
  readonly found: { readonly record: string; readonly credits: number; readonly person: string | null } | ServiceError;
}

export type Performing = Pick<ServiceContext, 'directory' | 'verifier' | 'evidence' | 'now' | 'webhooks'>;

/** One line's outcome; what waits for mail servers comes later, or is rejected with what may work later. */
export interface Performed {
  readonly outcome: Outcome | Promise<Outcome>;
  /** Characters of its record, as far as they are known by now. */
  readonly size: number;
}

export interface Performer {
  /** @throws ServiceError which may work later, such as want of room: then nothing of the round is done */
  perform(line: Line): Performed;
  /** All lines of the round have been given. */
  flush(): void;
}

/** Hears why lines have failed: by what nobody expected, and by what is damaged in the store. */
export interface Listener {
  readonly onBug: (error: unknown) => void;
  readonly onDamage: (error: unknown) => void;
}

/** Performs the lines of one round. */
export function performer(context: Performing, request: BatchRequest, listener: Listener): Performer {
  const { operation } = request;
  const options = callOptions(request);
  const { one, flush } = operation === 'verify' ? verifying(context, options) : { one: { enrich: enriching, reveal: revealing, company: looking }[operation](context), flush: () => undefined };
  return {
    flush,
    perform({ customId, params }) {
      if (params instanceof ServiceError) return { outcome: { customId, found: params }, size: 0 };
      const refused = (error: unknown): Outcome => ({ customId, found: refusalOf(error, listener) });
      const body = operation === 'verify' ? params : { ...options, ...params };
      try {
        // A record that waits for a verdict is there already, and counts from now on.
        const known = operation !== 'verify' && body['verify'] === true ? one({ ...body, verify: false }) : null;
        const found = one(body);
        const outcome = found instanceof Promise ? found.then((record) => ({ customId, found: record }), refused) : { customId, found };
        return { outcome, size: sizeOf(known) || sizeOf(found) };
      } catch (error) {
        return { outcome: refused(error), size: 0 };
      }
    },
  };
}

function sizeOf(found: Found | Promise<Found> | null): number {
  return found === null || found instanceof Promise ? 0 : found.record.length;
}

/** @throws what may work later */
function refusalOf(error: unknown, { onBug, onDamage }: Listener): ServiceError {
  if (error instanceof ServiceError) {
    if (isSettled(error.status)) return error;
    throw error;
  }
  if (isDamage(error)) {
    onDamage(error);
    return damaged();
  }
  // The store, or the disk below it.
  if ((error as { readonly code?: unknown }).code === 'ERR_SQLITE_ERROR') throw error;
  onBug(error);
  return new ServiceError('internal_error', 'something went wrong here with this line');
}

type Found = Exclude<Outcome['found'], ServiceError>;
type One = (body: Readonly<Record<string, unknown>>) => Found | Promise<Found>;

const ONE_WEBHOOK = 'a line has no webhook_url: give the job one';

function enriching(context: Performing): One {
  return (body) => {
    const { fields, webhook_url: url = null } = body;
    if (url !== null) throw new ServiceError('validation_failed', ONE_WEBHOOK, { errors: [{ pointer: '/webhook_url', code: 'unsupported_option', detail: ONE_WEBHOOK }] });
    // Whose record it is must be known for as long as it is kept, whether it is shown or not.
    const hidden = Array.isArray(fields) && fields.length > 0 && !fields.includes('id');
    const answer = enrichOne(context, hidden ? { ...body, fields: [...(fields as unknown[]), 'id'] } : body);
    const toFound = ({ text, credits }: Answer): Found => (hidden ? withoutId(text, credits) : { record: text, credits, person: null });
    return answer instanceof Promise ? answer.then(toFound) : toFound(answer);
  };
}

function withoutId(text: string, credits: number): Found {
  const { id, ...record } = JSON.parse(text) as Record<string, unknown>;
  return { record: JSON.stringify(record), credits, person: typeof id === 'string' ? id : null };
}

function revealing(context: Performing): One {
  const toFound = ({ text, credits }: Answer): Found => ({ record: text, credits, person: null });
  return (body) => {
    const answer = revealOne(context, body);
    return answer instanceof Promise ? answer.then(toFound) : toFound(answer);
  };
}

function looking({ directory }: Performing): One {
  return (body) => {
    return { record: companyByAny(directory, readOnly('domain', body)), credits: COMPANY_CREDITS, person: null };
  };
}

/** The lines of a round are asked about as one request: a mailbox that is there twice is looked into once, and paid for once. */
function verifying(context: Performing, options: BatchRequest['options']): { readonly one: One; readonly flush: () => void } {
  const emails: string[] = [];
  const paid = new Set<string>();
  const { promise: flushed, resolve: flush } = Promise.withResolvers<void>();
  let results: Promise<readonly AddressResult[]> | null = null;
  const ask = async (): Promise<readonly AddressResult[]> => {
    await flushed;
    return verifyAll(context, { emails, mode: (options['mode'] ?? 'full') as VerifyMode, maxAgeS: (options['max_age_s'] ?? null) as number | null, timeoutMs: (options['timeout_ms'] ?? null) as number | null, webhookUrl: null });
  };
  const one = (body: Readonly<Record<string, unknown>>): Promise<Found> => {
    const at = emails.push(readOnly('email', body)) - 1;
    results ??= ask();
    return results.then((all) => {
      const result = all[at] as AddressResult;
      if (result.reason === SUPPRESSED_REASON) throw suppressedPerson();
      return { record: JSON.stringify(result), credits: verdictCredits(result, paid), person: null };
    });
  };
  return { one, flush };
}

/** The one field of a line. @throws ServiceError when it is not there, or not alone */
function readOnly(field: 'email' | 'domain', params: Readonly<Record<string, unknown>>): string {
  const declared: Body = { properties: { [field]: LOOKUP_FIELDS[field] } };
  const reader = new BodyReader(params, declared);
  const value = reader.text(field);
  if (!reader.has(field)) reader.fail('', 'required', `give ${field}`);
  reader.finish();
  return value ?? '';
}
