/** Client of the Millrace data service: enrich, reveal, verify and search business contacts. It needs nothing but `fetch`. */
export { Client } from '../../src/client/library/client.ts';
export { DataServiceError } from '../../src/client/data-service-error.ts';
export { verifyWebhook, WebhookSignatureError } from '../../src/client/library/verify-webhook.ts';
export type { CallOptions } from '../../src/client/call-options.ts';
export type { ErrorFinding } from '../../src/client/data-service-error.ts';
export type { BatchFile } from '../../src/client/library/batch-file.ts';
export type { BatchContent, BatchInput, Batches, WaitOptions } from '../../src/client/library/batches.ts';
export type { CallSettings, VerifyCallOptions } from '../../src/client/library/client.ts';
export type { LastResponse, RateLimit } from '../../src/client/library/last-response.ts';
export type * from '../../src/client/library/models.ts';
export type { ClientOptions } from '../../src/client/library/open-caller.ts';
export type { ListPage, Pager } from '../../src/client/library/pager.ts';
export type * from '../../src/client/library/params.ts';
export type { EventStream } from '../../src/client/library/streams.ts';
export type { WebhookEvent } from '../../src/client/library/verify-webhook.ts';
export type { Webhooks } from '../../src/client/library/webhooks.ts';
