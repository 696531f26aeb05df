/** Every route of the service: its declared operation, and the feature that answers it. */
import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
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
import { batchEndpoints, batchResults, type BatchDependencies, type BatchResultsDependencies } from '../batches/batches-route.ts';
import { apiRoute } from '../calls/api-route.ts';
import type { Endpoint } from '../calls/endpoint.ts';
import type { GraphqlDependencies } from '../graphql/calls.ts';
import { graphqlEndpoint, graphqlType } from '../graphql/graphql-endpoint.ts';
import type { Limits } from '../guards/limits.ts';
import type { LoadGate } from '../guards/load-gate.ts';
import type { Operation } from '../http/operation.ts';
import { GET_COMPANY } from '../lookups/companies-operation.ts';
import { bulkEnrichEndpoint, type BulkEnrichDependencies } from '../lookups/enrich-bulk-route.ts';
import { ENRICH, ENRICH_BULK } from '../lookups/enrich-operations.ts';
import { companyEndpoint, enrichEndpoint, revealEndpoint } from '../lookups/lookup-routes.ts';
import { REVEAL } from '../lookups/reveal-operation.ts';
import type { Readiness, StoreHealth } from '../monitoring/store-health.ts';
import { GRAPHQL } from '../openapi/graphql-operation.ts';
import { HEALTH, OPENAPI, READINESS, REFERENCE } from '../openapi/service-operations.ts';
import { referenceRoute } from '../reference/reference-routes.ts';
import { SEARCH, SEARCH_BY_BODY } from '../search/search-operations.ts';
import { searchByBody, searchByQuery } from '../search/search-route.ts';
import { SIGNALS } from '../signals/signals-operation.ts';
import { signalsRoute, type SignalsDependencies } from '../signals/signals-route.ts';
import type { VerificationJobs } from '../verify/verification-jobs.ts';
import { POLL_VERIFICATION, VERIFY } from '../verify/verify-operations.ts';
import { pollVerification, verifyEndpoint } from '../verify/verify-route.ts';
import { listDeliveries, redeliver } from '../webhooks/deliveries-route.ts';
import {
  CHANGE_WEBHOOK,
  CREATE_WEBHOOK,
  DELETE_WEBHOOK,
  GET_WEBHOOK,
  LIST_DELIVERIES,
  LIST_WEBHOOKS,
  REDELIVER,
  ROTATE_WEBHOOK_SECRET,
  TEST_WEBHOOK,
} from '../webhooks/webhook-operations.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
} from '../webhooks/webhooks-route.ts';
import { health, openApi, readinessRoute } from './service-routes.ts';

/** The needs that all features declare, together. */
export interface FeatureDependencies
  extends
    BulkEnrichDependencies,
    GraphqlDependencies,
    SignalsDependencies,
    Omit<BatchDependencies, 'uploads' | 'webhooks'>,
    BatchResultsDependencies {
  readonly webhooks: Webhooks;
  readonly health: StoreHealth;
  readonly gate: LoadGate;
  readonly limits: Limits;
}

/** The parts that `app.ts` makes for them. */
interface FeatureServices {
  readonly jobs: VerificationJobs;
  readonly uploads: BatchDependencies['uploads'];
  readonly readiness: () => Readiness;
}

/** Adds all routes. @param add serves an operation by a handler */
export function addFeatures(
  add: (operation: Operation, handler: RouteHandlerMethod) => void,
  needs: FeatureDependencies,
  { jobs, uploads, readiness }: FeatureServices,
): void {
  const paid = (operation: Operation, endpoint: Endpoint): void => add(operation, apiRoute(needs, endpoint));
  const free = (operation: Operation, endpoint: Endpoint, typeOf?: (request: FastifyRequest) => string): void =>
    add(operation, apiRoute(needs, endpoint, { isFree: true, ...(typeOf === undefined ? {} : { typeOf }) }));

  paid(ENRICH, enrichEndpoint(needs));
  paid(ENRICH_BULK, bulkEnrichEndpoint(needs));
  paid(REVEAL, revealEndpoint(needs));
  paid(GET_COMPANY, companyEndpoint(needs));
  free(SEARCH, searchByQuery(needs));
  free(SEARCH_BY_BODY, searchByBody(needs));
  add(SIGNALS, signalsRoute(needs));
  paid(VERIFY, verifyEndpoint(needs, jobs));
  add(POLL_VERIFICATION, pollVerification(jobs));
  // The fields of a document are charged one by one.
  free(GRAPHQL, graphqlEndpoint(needs), graphqlType);

  const batches = batchEndpoints({ batches: needs.batches, webhooks: needs.webhooks, uploads });
  free(CREATE_BATCH, batches.create);
  free(LIST_BATCHES, batches.list);
  free(GET_BATCH, batches.get);
  free(CHANGE_BATCH, batches.change);
  free(PUT_PART, batches.putPart);
  free(COMPLETE_BATCH, batches.complete);
  free(CANCEL_BATCH, batches.cancel);
  free(DELETE_BATCH, batches.remove);
  add(BATCH_RESULTS, batchResults(needs));

  free(CREATE_WEBHOOK, createWebhook(needs));
  free(LIST_WEBHOOKS, listWebhooks(needs));
  free(GET_WEBHOOK, getWebhook(needs));
  free(CHANGE_WEBHOOK, changeWebhook(needs));
  free(DELETE_WEBHOOK, deleteWebhook(needs));
  free(ROTATE_WEBHOOK_SECRET, rotateWebhookSecret(needs));
  free(TEST_WEBHOOK, testWebhook(needs));
  free(LIST_DELIVERIES, listDeliveries(needs));
  free(REDELIVER, redeliver(needs));

  add(HEALTH, health());
  add(READINESS, readinessRoute(readiness));
  add(OPENAPI, openApi());
  add(REFERENCE, referenceRoute());
}
