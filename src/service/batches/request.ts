/** What a job is asked to do, read from the body that begins it. Pure. */
import { ServiceError } from '../errors.ts';
import { BATCH_BODY, BATCH_CHANGE_BODY, batchOptions, CALL_OPTIONS, type BatchFormat, type BatchOperation } from '../operations/batches.ts';
import { MAX_METADATA_DEPTH } from '../operations/enrich.ts';
import { BodyReader } from '../validate.ts';
import { isDeeper } from '../values.ts';
import { readWebhookUrl } from '../webhooks/url.ts';
import { MAX_METADATA_BYTES } from './limits.ts';

export interface BatchRequest {
  readonly operation: BatchOperation;
  readonly format: BatchFormat;
  /** For each line, unless the line says otherwise. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly webhookUrl: string | null;
  readonly maxCredits: number | null;
}

/** @throws ServiceError naming all that is wrong */
export function readBatchRequest(body: unknown, isDevelopment: boolean): BatchRequest {
  const reader = new BodyReader(body, BATCH_BODY);
  const operation = reader.get('operation');
  if (!reader.has('operation')) reader.fail('', 'required', 'give operation: enrich, verify, reveal or company');
  const format = reader.get('format') ?? 'ndjson';
  const options = reader.get('options') ?? {};
  const webhookUrl = readWebhookUrl(reader, isDevelopment);
  const metadata = reader.get('metadata');
  const maxCredits = reader.get('max_credits');
  if (metadata !== null && isDeeper(metadata, MAX_METADATA_DEPTH)) reader.fail('/metadata', 'too_deep', `metadata is nested more than ${MAX_METADATA_DEPTH} levels deep`);
  else if (metadata !== null && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) reader.fail('/metadata', 'too_long', `metadata has more than ${MAX_METADATA_BYTES} bytes as JSON`);
  if (operation !== null) checkOptions(operation, options, (at, code, detail) => reader.fail(`/options${at}`, code, detail));
  reader.finish();
  // `finish` has thrown unless it is there.
  return { operation: operation as BatchOperation, format, options, metadata, webhookUrl, maxCredits };
}

/** The options that each line's call is given: those of the job itself are no part of a call. */
export function callOptions({ operation, options }: Pick<BatchRequest, 'operation' | 'options'>): BatchRequest['options'] {
  const known = Object.keys(CALL_OPTIONS[operation].properties);
  return Object.fromEntries(Object.entries(options).filter(([name]) => known.includes(name)));
}

/** What a job may cost in all, as a body has it. @throws ServiceError naming all that is wrong */
export function readMaxCredits(body: unknown): number {
  const reader = new BodyReader(body, BATCH_CHANGE_BODY);
  const maxCredits = reader.get('max_credits');
  if (!reader.has('max_credits')) reader.fail('', 'required', 'give max_credits: what the job may cost in all, with what it has cost already');
  reader.finish();
  // `finish` has thrown unless it is there.
  return maxCredits as number;
}

/** Options are read as the operation's own call reads them; what is wrong is told with its place among them. */
function checkOptions(operation: BatchOperation, options: Readonly<Record<string, unknown>>, fail: (at: string, code: string, detail: string) => void): void {
  const declared = batchOptions(operation);
  const reader = new BodyReader(options, declared);
  for (const name of Object.keys(declared.properties)) reader.get(name);
  try {
    reader.finish();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    for (const { pointer = '', code, detail } of error.errors) fail(pointer, code, detail);
  }
}
