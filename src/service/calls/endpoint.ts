/** Endpoints and their answers. Types only. */
import type { FastifyRequest } from 'fastify';
import type { Named } from '../store/identity/named-people.ts';

/** The answer of an endpoint that succeeds: JSON text. */
export interface EndpointAnswer {
  readonly status: number;
  readonly text: string;
  readonly credits: number;
  /**
   * The people whom it names. Once they are erased, it is not repeated for its Idempotency-Key. Default: those whose addresses are in the
   * text.
   */
  readonly named?: Named;
  /** A part of the text that is stored encrypted. */
  readonly secret?: string;
  /** Further response headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Stores the answer for the request's Idempotency-Key within the transaction that is open: an endpoint that changes the store calls it, so
 * that a crash leaves both or neither. Does nothing for a request without that header.
 * @throws ServiceError when another process has answered the same request meanwhile
 */
export type StoreAnswer = (answer: EndpointAnswer) => void;

/** An endpoint: from a parsed body to an answer. @throws ServiceError for every answer of 400 and above */
export type Endpoint = (body: unknown, request: FastifyRequest, storeAnswer: StoreAnswer) => EndpointAnswer | Promise<EndpointAnswer>;
