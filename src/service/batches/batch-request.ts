/** Request bodies of the Batch API. Pure. */
import { ServiceError } from '../http/problem.ts';
import { BATCH_BODY, BATCH_CHANGE_BODY, batchOptions, CALL_OPTIONS, type BatchFormat, type BatchOperation } from './batch-operations.ts';
import { MAX_METADATA_DEPTH } from '../lookups/enrich-operations.ts';
import { BodyReader } from '../http/body-reader.ts';
import { isDeeper } from '../http/values.ts';
import { readWebhookUrl } from '../webhooks/url.ts';
import { MAX_METADATA_BYTES } from './batch-limits.ts';

export interface BatchRequest {
  readonly operation: BatchOperation;
  readonly format: BatchFormat;
  /** Options for every line. A line may override them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly webhookUrl: string | null;
  readonly maxCredits: number | null;
}

/** Reads the body that creates a job. @throws ServiceError naming every problem */
export function readBatchRequest(body: unknown, isDevelopment: boolean): BatchRequest {
  const reader = new BodyReader(body, BATCH_BODY);
  const operation = reader.get('operation');
  if (!reader.has('operation')) reader.fail('', 'required', 'give operation: enrich, verify, reveal or company');
  const format = reader.get('format') ?? 'ndjson';
  const options = reader.get('options') ?? {};
  const webhookUrl = readWebhookUrl(reader, isDevelopment);
  const metadata = reader.get('metadata');
  const maxCredits = reader.get('max_credits');
  if (metadata !== null && isDeeper(metadata, MAX_METADATA_DEPTH))
    reader.fail('/metadata', 'too_deep', `metadata is nested more than ${MAX_METADATA_DEPTH} levels deep`);
  else if (metadata !== null && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES)
    reader.fail('/metadata', 'too_long', `metadata has more than ${MAX_METADATA_BYTES} bytes as JSON`);
  if (operation !== null) checkOptions(operation, options, (at, code, detail) => reader.fail(`/options${at}`, code, detail));
  reader.finish();
  // `finish` throws when the operation is missing.
  return { operation: operation as BatchOperation, format, options, metadata, webhookUrl, maxCredits };
}

/** The options for the call of each line, without those of the job itself. */
export function callOptions({ operation, options }: Pick<BatchRequest, 'operation' | 'options'>): BatchRequest['options'] {
  const known = Object.keys(CALL_OPTIONS[operation].properties);
  return Object.fromEntries(Object.entries(options).filter(([name]) => known.includes(name)));
}

/** The `max_credits` of a body. @throws ServiceError naming every problem */
export function readMaxCredits(body: unknown): number {
  const reader = new BodyReader(body, BATCH_CHANGE_BODY);
  const maxCredits = reader.get('max_credits');
  if (!reader.has('max_credits'))
    reader.fail('', 'required', 'give max_credits: what the job may cost in all, with what it has cost already');
  reader.finish();
  // `finish` throws when it is missing.
  return maxCredits as number;
}

/** Reads options as the operation's own call does; errors name their path below `options`. */
function checkOptions(
  operation: BatchOperation,
  options: Readonly<Record<string, unknown>>,
  fail: (at: string, code: string, detail: string) => void,
): void {
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
