/** Every operation of the service, in the order of the reference. */
import type { Operation } from '../http/operation.ts';
import {
  BATCH_RESULTS,
  CANCEL_BATCH,
  CHANGE_BATCH,
  COMPLETE_BATCH,
  CREATE_BATCH,
  DELETE_BATCH,
  GET_BATCH,
  LIST_BATCHES,
  PUT_PART,
} from '../batches/batch-operations.ts';
import { GET_COMPANY } from '../lookups/companies-operation.ts';
import { ENRICH, ENRICH_BULK } from '../lookups/enrich-operations.ts';
import { GRAPHQL } from './graphql-operation.ts';
import { REVEAL } from '../lookups/reveal-operation.ts';
import { SEARCH, SEARCH_BY_BODY } from '../search/search-operations.ts';
import { HEALTH, OPENAPI, READINESS, REFERENCE } from './service-operations.ts';
import { SIGNALS } from '../signals/signals-operation.ts';
import { POLL_VERIFICATION, VERIFY } from '../verify/verify-operations.ts';
import { WEBHOOK_OPERATIONS } from '../webhooks/webhook-operations.ts';

export const OPERATIONS: readonly Operation[] = [
  ENRICH,
  ENRICH_BULK,
  SEARCH,
  SEARCH_BY_BODY,
  REVEAL,
  VERIFY,
  POLL_VERIFICATION,
  CREATE_BATCH,
  PUT_PART,
  COMPLETE_BATCH,
  GET_BATCH,
  LIST_BATCHES,
  BATCH_RESULTS,
  CHANGE_BATCH,
  CANCEL_BATCH,
  DELETE_BATCH,
  GET_COMPANY,
  SIGNALS,
  GRAPHQL,
  ...WEBHOOK_OPERATIONS,
  HEALTH,
  READINESS,
  OPENAPI,
  REFERENCE,
];
