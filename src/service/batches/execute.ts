/** Executes lines with the use cases of the operations' own calls. */
import { mapped, type RunSteps } from '../../util/steps.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { settlesRequest, ServiceError } from '../http/problem.ts';
import { COMPANY_CREDITS, findCompanyText } from '../lookups/company.ts';
import { enrichOne, type EnrichDependencies } from '../lookups/enrich.ts';
import { revealOne } from '../lookups/reveal.ts';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { verdictCredits, verifyAll, type VerifyDependencies } from '../verify/verify.ts';
import { SUPPRESSED_REASON, suppressedPerson, type AddressResult } from '../records/suppressed-result.ts';
import type { VerifyMode } from '../../verification/types.ts';
import { LOOKUP_FIELDS } from '../lookups/find-person.ts';
import type { Body } from '../http/body-schema.ts';
import { storeDamaged } from '../accounts/store-refusals.ts';
import { BodyReader } from '../http/body-reader.ts';
import type { Line } from './parse-line.ts';
import { callOptions, type BatchRequest } from './batch-request.ts';

/** The outcome of a line: its record as JSON, or an error. `person` is the id of the person if the record does not contain it. */
export interface LineOutcome {
  readonly customId: string | null;
  readonly found: { readonly record: string; readonly credits: number; readonly person: string | null } | ServiceError;
}

/** The dependencies of all operations' use cases. */
export type ExecuteContext = EnrichDependencies & VerifyDependencies;

/** A started line. Its outcome is a promise while it waits for mail servers; temporary errors reject that promise. */
export interface Execution {
  readonly outcome: LineOutcome | Promise<LineOutcome>;
  /** Characters of the record, as far as they are known. */
  readonly size: number;
}

interface LineExecutor {
  /** Starts a line. @throws temporary ServiceErrors, such as a lack of capacity: then no line of the chunk counts */
  execute(line: Line): Execution;
  /** Starts the work that all lines share. Call it after the last line of the chunk. */
  flush(): void;
}

/** Writing a verdict as JSON takes this many units of work. */
const VERDICT_UNITS = 1;

/** Callbacks for lines that failed because of a bug, or of damage in the store. */
export interface Listener {
  readonly onBug: (error: unknown) => void;
  readonly onDamage: (error: unknown) => void;
}

/** An executor for the lines of one chunk. @param run shares out the work that all lines share */
export function lineExecutor(context: ExecuteContext, request: BatchRequest, listener: Listener, run: RunSteps): LineExecutor {
  const { operation } = request;
  const options = callOptions(request);
  const { one, flush } =
    operation === 'verify'
      ? verifying(context, options, run)
      : { one: { enrich: enriching, reveal: revealing, company: looking }[operation](context), flush: () => undefined };
  return {
    flush,
    execute({ customId, params }) {
      if (params instanceof ServiceError) return { outcome: { customId, found: params }, size: 0 };
      const refused = (error: unknown): LineOutcome => ({ customId, found: refusalOf(error, listener) });
      const body = operation === 'verify' ? params : { ...options, ...params };
      try {
        // A record that waits for a verdict has about the size of the record without it.
        const preview = operation !== 'verify' && body['verify'] === true ? one({ ...body, verify: false }) : null;
        const found = one(body);
        const outcome = found instanceof Promise ? found.then((record) => ({ customId, found: record }), refused) : { customId, found };
        return { outcome, size: sizeOf(preview) || sizeOf(found) };
      } catch (error) {
        return { outcome: refused(error), size: 0 };
      }
    },
  };
}

function sizeOf(found: Success | Promise<Success> | null): number {
  return found === null || found instanceof Promise ? 0 : found.record.length;
}

/** The error of a line. @throws temporary errors */
function refusalOf(error: unknown, { onBug, onDamage }: Listener): ServiceError {
  if (error instanceof ServiceError) {
    if (settlesRequest(error.status)) return error;
    throw error;
  }
  if (isUnreadable(error)) {
    onDamage(error);
    return storeDamaged();
  }
  // Errors of the store or its disk are temporary.
  if ((error as { readonly code?: unknown }).code === 'ERR_SQLITE_ERROR') throw error;
  onBug(error);
  return new ServiceError('internal_error', 'something went wrong here with this line');
}

type Success = Exclude<LineOutcome['found'], ServiceError>;
type One = (body: Readonly<Record<string, unknown>>) => Success | Promise<Success>;

const ONE_WEBHOOK = 'a line has no webhook_url: give the job one';

function enriching(context: ExecuteContext): One {
  return (body) => {
    const { fields, webhook_url: url = null } = body;
    if (url !== null)
      throw new ServiceError('validation_failed', ONE_WEBHOOK, {
        errors: [{ pointer: '/webhook_url', code: 'unsupported_option', detail: ONE_WEBHOOK }],
      });
    // An erasure finds stored records by the person's id, so the id is needed even when `fields` leaves it out.
    const hidden = Array.isArray(fields) && fields.length > 0 && !fields.includes('id');
    const answer = enrichOne(context, hidden ? { ...body, fields: [...(fields as unknown[]), 'id'] } : body);
    const toFound = ({ text, credits }: EndpointAnswer): Success =>
      hidden ? withoutId(text, credits) : { record: text, credits, person: null };
    return answer instanceof Promise ? answer.then(toFound) : toFound(answer);
  };
}

function withoutId(text: string, credits: number): Success {
  const { id, ...record } = JSON.parse(text) as Record<string, unknown>;
  return { record: JSON.stringify(record), credits, person: typeof id === 'string' ? id : null };
}

function revealing(context: ExecuteContext): One {
  const toFound = ({ text, credits }: EndpointAnswer): Success => ({ record: text, credits, person: null });
  return (body) => {
    const answer = revealOne(context, body);
    return answer instanceof Promise ? answer.then(toFound) : toFound(answer);
  };
}

function looking({ directory }: ExecuteContext): One {
  return (body) => {
    return { record: findCompanyText(directory, readOnly('domain', body)), credits: COMPANY_CREDITS, person: null };
  };
}

/** Verifies the lines of a chunk as one request: a mailbox that occurs twice is checked once and charged once. */
function verifying(
  context: ExecuteContext,
  options: BatchRequest['options'],
  run: RunSteps,
): { readonly one: One; readonly flush: () => void } {
  const emails: string[] = [];
  const paid = new Set<string>();
  const { promise: flushed, resolve: flush } = Promise.withResolvers<void>();
  let results: Promise<readonly (Success | null)[]> | null = null;
  const verdictOf = (result: AddressResult): Success | null =>
    result.reason === SUPPRESSED_REASON ? null : { record: JSON.stringify(result), credits: verdictCredits(result, paid), person: null };
  /** Null for a person who asked to be removed. */
  const verify = async (): Promise<readonly (Success | null)[]> => {
    await flushed;
    const asked = {
      emails,
      mode: (options['mode'] ?? 'full') as VerifyMode,
      maxAgeS: (options['max_age_s'] ?? null) as number | null,
      timeoutMs: (options['timeout_ms'] ?? null) as number | null,
      webhookUrl: null,
    };
    return await run(mapped(await verifyAll(context, asked, null, run), VERDICT_UNITS, verdictOf));
  };
  const one = (body: Readonly<Record<string, unknown>>): Promise<Success> => {
    const at = emails.push(readOnly('email', body)) - 1;
    results ??= verify();
    return results.then((all) => {
      const verdict = all[at];
      if (verdict === null || verdict === undefined) throw suppressedPerson();
      return verdict;
    });
  };
  return { one, flush };
}

/** The only field of a line. @throws ServiceError when it is missing, or the line has other fields */
function readOnly(field: 'email' | 'domain', params: Readonly<Record<string, unknown>>): string {
  const declared: Body = { properties: { [field]: LOOKUP_FIELDS[field] } };
  const reader = new BodyReader(params, declared);
  const value = reader.text(field);
  if (!reader.has(field)) reader.fail('', 'required', `give ${field}`);
  reader.finish();
  return value ?? '';
}
