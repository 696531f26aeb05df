/** The package's library: the typed client for the data service. The pipeline is reached through the command. */
export { DataServiceClient, DataServiceError, MAX_VERIFY_EMAILS } from './client/data-service-client.ts';
export type {
  CallOptions,
  ClientOptions,
  CompanyAnswer,
  EnrichAnswer,
  EnrichKey,
  RevealAnswer,
  RevealKey,
  VerifyAnswer,
} from './client/data-service-client.ts';
export type {
  CallMeta,
  CallResult,
  CompanyRecord,
  ContactRecord,
  PersonRecord,
  ResponseHeaders,
  VerificationResult,
} from './client/types.ts';
export { readApiKey } from './client/api-key.ts';
export { ConfigError, MillraceError } from './util/errors.ts';
