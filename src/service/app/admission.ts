/** Whether a request is admitted: its key, region, quota and query. Runs before its body is read. */
import type { FastifyRequest } from 'fastify';
import type { KeyRing } from '../accounts/key-ring.ts';
import type { Region } from '../accounts/keys.ts';
import { storeDamaged } from '../accounts/store-refusals.ts';
import { nearest } from '../../util/nearest.ts';
import { ServiceError } from '../http/problem.ts';
import { pathOf } from '../http/request-path.ts';

/** A message lists at most this many known parameters. */
const MANY_PARAMETERS = 20;
/** A refusal names at most this many unknown parameters. */
const MOST_NAMED = 10;
const NO_KEY = 'send an API key that this service knows: Authorization: Bearer KEY';

export interface AdmissionDependencies {
  readonly keys: Pick<KeyRing, 'resolve' | 'wasRevoked' | 'isDamaged'>;
  readonly region: Region;
}

/** Admits a request to a route that needs a key, and takes one request of its quota. @throws ServiceError */
export function admit({ keys, region }: AdmissionDependencies, request: FastifyRequest): void {
  const { charge } = request.call;
  const { authorization } = request.headers;
  const key = keys.resolve(authorization);
  if (key === null) {
    if (keys.wasRevoked(authorization))
      throw new ServiceError('forbidden', 'this key was revoked, and is accepted no more; take another one');
    throw new ServiceError('unauthorized', NO_KEY, { headers: { 'www-authenticate': 'Bearer' } });
  }
  charge.identify(key);
  // Nothing could be charged to it.
  if (keys.isDamaged(key.id)) throw storeDamaged();
  if (key.region !== region) {
    charge.peekQuota();
    const detail = `this key belongs to region ${key.region}; this is ${region}`;
    throw new ServiceError('wrong_region', detail, { errors: [{ parameter: 'Authorization', code: 'wrong_region', detail: key.region }] });
  }
  charge.takeToken();
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  const takesGzip = request.routeOptions.config.raw !== undefined;
  if (encoding !== 'identity' && !(encoding === 'gzip' && takesGzip)) {
    throw new ServiceError(
      'unsupported_media_type',
      `send the body as it is, ${takesGzip ? 'or with Content-Encoding: gzip' : 'without Content-Encoding'}`,
    );
  }
  refuseBadQuery(request);
}

/** Finds the key and quota of a request that takes none of it, for the headers of its answer. */
export function peekQuota({ keys }: Pick<AdmissionDependencies, 'keys'>, { headers, call: { charge } }: FastifyRequest): void {
  const key = keys.resolve(headers.authorization);
  if (key === null) return;
  charge.identify(key);
  charge.peekQuota();
}

/**
 * @throws ServiceError naming the query parameters that the route does not have, with similar known ones; or those that are given twice and
 * take one value
 */
export function refuseBadQuery(request: FastifyRequest): void {
  if (!request.url.includes('?')) return;
  const parameters = request.routeOptions.config.parameters ?? {};
  const known = Object.keys(parameters);
  const given = request.query as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  const errors = unknown.slice(0, MOST_NAMED).map((name) => ({
    parameter: name.slice(0, 64),
    code: 'unknown_parameter',
    detail: `unknown query parameter ${JSON.stringify(name.slice(0, 64))}; ${adviceOn(name, known, request)}`,
  }));
  const [first] = errors;
  if (first !== undefined)
    throw new ServiceError('unknown_parameter', unknown.length === 1 ? first.detail : `${first.detail} (and ${unknown.length - 1} more)`, {
      errors,
    });
  const repeated = Object.keys(given).filter((name) => Array.isArray(given[name]) && parameters[name]?.most === undefined);
  if (repeated.length === 0) return;
  const twice = repeated.map((parameter) => ({ parameter, code: 'repeated', detail: `${parameter} is given more than once` }));
  throw new ServiceError('invalid_parameter', twice.map(({ detail }) => detail).join(', '), { errors: twice });
}

function adviceOn(name: string, known: readonly string[], { method, url }: FastifyRequest): string {
  const near = nearest(name, known);
  if (near !== null) return `did you mean ${near}?`;
  if (known.length > MANY_PARAMETERS) return 'see the reference for those that are';
  if (known.length > 0) return `known are ${known.join(', ')}`;
  return `${pathOf(url)} takes none${method === 'POST' ? ': send fields in the body' : ''}`;
}
