/** Names of what has none in the OpenAPI document: objects and enums inside others. */
import { pascalCase } from './text.ts';

/** Names of objects, by owner and field. The same object elsewhere has the same name; without a row here it is owner and field. */
export const OBJECT_NAMES: Readonly<Record<string, string>> = {
  'Person.emails': 'EmailAddress',
  'Person.phones': 'PhoneNumber',
  'Person.location': 'Location',
  'Person.certifications': 'Certification',
  'Person.education': 'Education',
  'Person.employment_history': 'Employment',
  'Company.technologies': 'Technology',
  'Company.subsidiaries': 'Subsidiary',
  'Company.headcount_growth': 'HeadcountGrowth',
  'Company.funding': 'Funding',
  'Funding.rounds': 'FundingRound',
  'Company.hiring': 'Hiring',
  'Company.signals': 'CompanySignal',
  'CompanySignal.person': 'SignalPerson',
  'CompanySignal.data': 'SignalData',
  'SignalData.from': 'Position',
  'BulkEnrichment.data': 'BulkResult',
  'ContactPage.meta': 'ContactPageMeta',
  'SignalPage.meta': 'PageMeta',
  'Verification.flags': 'VerificationFlags',
  'Verification.score_factors': 'ScoreFactor',
  'Verification.mx': 'MailExchange',
  'MailExchange.records': 'MailExchangeRecord',
  'Verification.smtp': 'SmtpReply',
  'VerificationBatch.summary': 'VerificationSummary',
  'JobChange.from': 'JobPosition',
  'GraphQLResponse.errors': 'GraphQLError',
  'GraphQLError.locations': 'GraphQLLocation',
  'Batch.parts': 'BatchParts',
  'Batch.counts': 'BatchCounts',
  'Batch.times': 'BatchTimes',
  'BatchLine.error': 'BatchLineError',
  'Problem.errors': 'ProblemItem',
  'BulkEnrichParams.requests': 'BulkItem',
  'WebhookParams.filter': 'WebhookFilterParams',
};

/** Names of enums by owner and field; the same values elsewhere have the same name. */
export const ENUM_NAMES: Readonly<Record<string, string>> = {
  'Problem.code': 'ErrorCode',
  'BatchLineError.code': 'ErrorCode',
  'CompanySignal.type': 'SignalType',
  'EnrichParams.required': 'PersonField',
  'ContactFilters.fields': 'ContactField',
  'ContactFilters.title_match': 'TitleMatch',
  'ContactFilters.sort': 'ContactSort',
  'ContactFilters.signal': 'SignalTypeFilter',
  'ContactPageMeta.total_relation': 'TotalRelation',
  'Verification.result': 'Verdict',
  'VerificationCheck.name': 'VerificationStage',
  'VerificationProgress.status': 'VerificationStatus',
  'VerifyOptions.mode': 'VerifyMode',
  'Batch.operation': 'BatchOperation',
  'Batch.format': 'BatchFormat',
  'Batch.state': 'BatchState',
  'BatchLine.status': 'BatchLineStatus',
  'Webhook.events': 'EventName',
  'Webhook.disabled_reason': 'DisabledReason',
  'WebhookDelivery.state': 'DeliveryState',
  'Health.status': 'HealthStatus',
  'Health.reason': 'HealthReason',
};

/** Names of the parameters of calls, by the schema of their body. */
export const PARAMS_OF_BODIES: Readonly<Record<string, string>> = {
  EnrichRequest: 'EnrichParams',
  BulkEnrichRequest: 'BulkEnrichParams',
  RevealRequest: 'RevealParams',
  VerifyRequest: 'VerifyOptions',
  BatchRequest: 'BatchParams',
  BatchChange: 'BatchUpdate',
  WebhookRequest: 'WebhookParams',
  WebhookChange: 'WebhookUpdate',
};

/** Bodies that no call takes as parameters: a search has those of its query, and GraphQL has three texts. */
export const OTHER_BODIES: readonly string[] = ['SearchRequest', 'GraphQLRequest'];

/** Fields that are arguments of their own. */
export const OMITTED: Readonly<Record<string, readonly string[]>> = { VerifyOptions: ['email', 'emails'] };

/** Names of the parameters of calls, by the operation whose query they are. */
export const PARAMS_OF_QUERIES: Readonly<Record<string, string>> = { searchContacts: 'ContactFilters', listSignals: 'SignalFilters' };

/** The name of an object or enum in a field of `owner`, when no row above has it. */
export function nestedName(owner: string, field: string): string {
  return owner + pascalCase(field.replace(/ies$/, 'y').replace(/(?<![s])s$/, ''));
}
