/** The package's library: the client of the data service, the pipeline, and the check of addresses from this machine. */
export { DataServiceClient } from './client/data-service-client.ts';
export type { ClientOptions } from './client/data-service-client.ts';
export type { CallSettings, Client, VerifyCallOptions } from './client/library/client.ts';
export { DataServiceError } from './client/data-service-error.ts';
export type { ErrorFinding } from './client/data-service-error.ts';
export { MAX_VERIFY_EMAILS } from './client/attempt-client.ts';
export type { CallOptions } from './client/call-options.ts';
export type { AttemptClient, EnrichKey, RevealKey } from './client/attempt-client.ts';
export type { VerifyAnswer } from './client/verify-answer.ts';
export type { CompanyAnswer, EnrichAnswer, RevealAnswer } from './client/record.ts';
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
export type { BatchFile } from './client/library/batch-file.ts';
export type { LastResponse, RateLimit } from './client/library/last-response.ts';
export type * from './client/library/models.ts';
export type { ListPage, Pager } from './client/library/pager.ts';
export type * from './client/library/params.ts';
export type { EventStream } from './client/library/streams.ts';
export { verifyWebhook, WebhookSignatureError } from './client/library/verify-webhook.ts';
export type { WebhookEvent } from './client/library/verify-webhook.ts';
export type { Webhooks } from './client/library/webhooks.ts';
export { readApiKey } from './client/api-key.ts';
export { runJob } from './library/run-job.ts';
export type { JobResult, RunJobOptions } from './library/run-job.ts';
export type { JobEvent, JobProgress } from './library/job-events.ts';
export type { JobDefinition } from './definition/schema.ts';
export type { Report } from './job/report/report.ts';
export { verifier } from './library/verifier.ts';
export type { LocalVerifier, VerifierSettings, VerifyOptions } from './library/verifier.ts';
export type { EmailVerification } from './verification/types.ts';
export { ConfigError, MillraceError } from './util/errors.ts';
