/** Every operation of the service, in the order of the reference. */
import type { Operation } from '../openapi/operation.ts';
import { BATCH_RESULTS, CANCEL_BATCH, CHANGE_BATCH, COMPLETE_BATCH, CREATE_BATCH, DELETE_BATCH, GET_BATCH, LIST_BATCHES, PUT_PART } from './batches.ts';
import { COMPANY } from './companies.ts';
import { ENRICH, ENRICH_BULK } from './enrich.ts';
import { GRAPHQL } from './graphql.ts';
import { REVEAL } from './reveal.ts';
import { SEARCH, SEARCH_BY_BODY } from './search.ts';
import { HEALTH, OPENAPI, READINESS, REFERENCE } from './service.ts';
import { SIGNALS } from './signals.ts';
import { POLL_VERIFICATION, VERIFY } from './verify.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

export const OPERATIONS: readonly Operation[] = [ENRICH, ENRICH_BULK, SEARCH, SEARCH_BY_BODY, REVEAL, VERIFY, POLL_VERIFICATION, CREATE_BATCH, PUT_PART, COMPLETE_BATCH, GET_BATCH, LIST_BATCHES, BATCH_RESULTS, CHANGE_BATCH, CANCEL_BATCH, DELETE_BATCH, COMPANY, SIGNALS, GRAPHQL, ...WEBHOOK_OPERATIONS, HEALTH, READINESS, OPENAPI, REFERENCE];
