/** The package's library: the typed client for the data service. The pipeline is reached through the command. */
export { DataServiceClient } from './client/data-service-client.ts';
export type { ClientOptions, VerifyCallOptions } from './client/data-service-client.ts';
export { DataServiceError } from './client/data-service-error.ts';
export type { ErrorFinding } from './client/data-service-error.ts';
export { MAX_VERIFY_EMAILS } from './client/attempt-client.ts';
export type {
  CallOptions,
  CompanyAnswer,
  EnrichAnswer,
  EnrichKey,
  RevealAnswer,
  RevealKey,
  VerifyAnswer,
} from './client/attempt-client.ts';
export type {
  CallMeta,
  CallResult,
  CompanyRecord,
  ContactRecord,
  PersonRecord,
  ResponseHeaders,
  VerificationResult,
} from './client/types.ts';
export type { BatchContent, BatchInput, Batches, WaitOptions } from './client/library/batches.ts';
export type { LastResponse, RateLimit } from './client/library/last-response.ts';
export type * from './client/library/models.ts';
export type { ListPage, Pager } from './client/library/pager.ts';
export type * from './client/library/params.ts';
export type { EventStream } from './client/library/streams.ts';
export { verifyWebhook, WebhookSignatureError } from './client/library/verify-webhook.ts';
export type { WebhookEvent } from './client/library/verify-webhook.ts';
export type { Webhooks } from './client/library/webhooks.ts';
export { readApiKey } from './client/api-key.ts';
export { ConfigError, MillraceError } from './util/errors.ts';
