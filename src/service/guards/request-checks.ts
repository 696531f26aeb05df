/** Checks that hold for every route: Host, Expect, and the encoding of the target. Pure. */
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../http/problem.ts';
import { pathOf } from '../http/request-path.ts';

/** The one expectation that HTTP knows (RFC 9110 10.1.1); Node answers it before the request comes here. */
const CONTINUE = '100-continue';

/**
 * @throws ServiceError for a request of HTTP/1.1 without exactly one Host, with an unknown expectation, or with a target that cannot be
 * decoded
 */
export function refuseMalformed({ headers, raw, url }: Pick<FastifyRequest, 'headers' | 'raw' | 'url'>): void {
  refuseOddHost(headers.host, raw.httpVersion, raw.rawHeaders);
  refuseExpectation(headers.expect, raw.httpVersion);
  if (url.includes('%')) refuseBadEscapes(url);
}

/** RFC 9112 3.2. */
function refuseOddHost(host: string | undefined, version: string, rawHeaders: readonly string[]): void {
  const isMissing = host === undefined;
  if (isMissing ? version !== '1.1' : !hasTwoHosts(rawHeaders)) return;
  const [code, detail] = isMissing ? ['required', 'Host is missing'] : ['format', 'Host is there more than once'];
  throw new ServiceError('invalid_parameter', 'a request of HTTP/1.1 has one Host header', {
    errors: [{ parameter: 'Host', code, detail }],
  });
}

/** @param rawHeaders names and values in turn */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 'host'.length && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

function refuseExpectation(expect: string | undefined, version: string): void {
  if (expect === undefined || version !== '1.1' || expect.toLowerCase() === CONTINUE) return;
  // A client that waits for what it expects may not send its body, so nothing can follow on this connection.
  throw new ServiceError('expectation_failed', `Expect takes ${CONTINUE}, and nothing else`, {
    errors: [{ parameter: 'Expect', code: 'unsupported_option', detail: `send ${CONTINUE}, or no Expect` }],
    headers: { connection: 'close' },
  });
}

/** Fastify would take a bad escape literally, and find nothing. */
function refuseBadEscapes(url: string): void {
  const path = pathOf(url);
  if (!isDecodable(path)) throw badEscapes('path');
  if (!isDecodable(url.slice(path.length))) throw badEscapes('query');
}

export function badEscapes(part: 'path' | 'query'): ServiceError {
  return new ServiceError('invalid_parameter', `the ${part} is not properly percent-encoded (UTF-8)`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
