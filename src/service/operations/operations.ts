/** Every operation of the service, in the order of the reference. */
import type { Operation } from '../openapi/operation.ts';
import { COMPANY } from './companies.ts';
import { ENRICH, ENRICH_BULK } from './enrich.ts';
import { GRAPHQL } from './graphql.ts';
import { REVEAL } from './reveal.ts';
import { SEARCH, SEARCH_BY_BODY } from './search.ts';
import { HEALTH, OPENAPI, READINESS, REFERENCE } from './service.ts';
import { SIGNALS } from './signals.ts';
import { POLL_VERIFICATION, VERIFY } from './verify.ts';

export const OPERATIONS: readonly Operation[] = [ENRICH, ENRICH_BULK, SEARCH, SEARCH_BY_BODY, REVEAL, VERIFY, POLL_VERIFICATION, COMPANY, SIGNALS, GRAPHQL, HEALTH, READINESS, OPENAPI, REFERENCE];
