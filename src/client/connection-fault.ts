/**
 * Why no answer came, in words that name the host, and whether waiting can mend it. Pure.
 *
 * Sources of the codes: Node's "TLS (SSL)" page, X509 certificate error codes; OpenSSL's reason names as `ERR_SSL_*`; undici's errors.
 */

/** A fault that stays until the job, the environment or the server is changed. */
export type ConnectionFault =
  | 'untrusted_certificate'
  | 'expired_certificate'
  | 'foreign_certificate'
  /** https was asked of a port that speaks plain HTTP, or something else than TLS. */
  | 'no_tls'
  /** http was asked of a port that speaks TLS. */
  | 'needs_tls'
  | 'tls_refused'
  | 'http2_only'
  | 'not_http'
  | 'no_such_host'
  | 'proxy_refused';

interface Explained {
  readonly detail: string;
  readonly fault: ConnectionFault | null;
}

/** Where a call was to go: `origin` as in the base URL, its host name and its port. */
interface CallTarget {
  readonly origin: string;
  readonly hostname: string;
}

interface SystemError extends Error {
  readonly code?: string;
  readonly hostname?: string;
  readonly address?: string;
  readonly port?: number;
  readonly data?: unknown;
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
]);
/** OpenSSL's codes for bytes that are not TLS. */
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_RECORD_LAYER_FAILURE',
]);
/** A proxy's own 4xx; 408 and 429 pass, and its 5xx is an outage. */
const PROXY_REFUSAL = /^(?:Proxy response \((4\d\d)\)|Proxy Authentication Required \((407)\))/;
const PASSING: ReadonlySet<string> = new Set(['408', '429']);

/** @param error what undici or the system said */
export function explain(error: Error, { origin, hostname }: CallTarget): Explained {
  for (const one of causesOf(error)) {
    const code = one.code ?? '';
    const refusal = PROXY_REFUSAL.exec(one.message);
    const status = refusal?.[1] ?? refusal?.[2];
    if (status !== undefined && !PASSING.has(status))
      return { fault: 'proxy_refused', detail: `the proxy refuses the way to ${origin} with ${status}` };
    const certificate = `the certificate of ${origin}`;
    if (code === 'CERT_HAS_EXPIRED') return { fault: 'expired_certificate', detail: `${certificate} has expired` };
    if (code === 'CERT_NOT_YET_VALID') return { fault: 'expired_certificate', detail: `${certificate} is not valid yet` };
    if (UNTRUSTED.has(code)) return { fault: 'untrusted_certificate', detail: `${certificate} is not trusted (${reasonOf(one.message)})` };
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return { fault: 'foreign_certificate', detail: `the certificate that ${origin} shows is for another host` };
    if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')
      return { fault: 'http2_only', detail: `${origin} does not speak HTTP/1.1, but HTTP/2 alone` };
    if (NO_TLS.has(code)) return { fault: 'no_tls', detail: `${origin} does not speak TLS` };
    if (code.startsWith('ERR_SSL_')) return { fault: 'tls_refused', detail: `${origin} and this client cannot agree on TLS (${code})` };
    if (one.name === 'HTTPParserError') return fromOtherProtocol(one.data, origin, one.message);
    if (code === 'ENOTFOUND') return { fault: 'no_such_host', detail: `there is no host ${one.hostname ?? hostname} (${code})` };
    if (code === 'ECONNREFUSED') return { fault: null, detail: `nothing listens at ${listenerOf(one, origin)} (${code})` };
  }
  return { fault: null, detail: messageOf(error) };
}

/** Names the protocol that came instead of HTTP, by its first bytes. */
function fromOtherProtocol(data: unknown, origin: string, message: string): Explained {
  const [first, second, , fourth] = typeof data === 'string' ? [0, 1, 2, 3].map((at) => data.charCodeAt(at)) : [];
  if (first === 0 && second === 0 && fourth === 4)
    return { fault: 'http2_only', detail: `${origin} does not speak HTTP/1.1, but HTTP/2 alone` };
  if (first === 0x15 && second === 3) return { fault: 'needs_tls', detail: `${origin} speaks TLS` };
  return { fault: 'not_http', detail: `${origin} does not answer in HTTP (${message})` };
}

/** As the user wrote it where it is the service's own port; a proxy's as the system says it. */
function listenerOf({ address, port }: SystemError, origin: string): string {
  const { host, port: own, protocol } = new URL(origin);
  const servicePort = own === '' ? (protocol === 'https:' ? 443 : 80) : Number(own);
  if (port === undefined || port === servicePort) return own === '' ? `${host}:${servicePort}` : host;
  return `${address ?? ''}:${port}`;
}

/** OpenSSL's words, without Node's advice, which is not for the user of a command. */
function reasonOf(message: string): string {
  return message.split(';', 1)[0] ?? message;
}

/** The error, what it wraps, and each of several: outermost first. */
function* causesOf(error: Error): Generator<SystemError> {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    // Connecting to several addresses fails with one error for each.
    if (one instanceof AggregateError) yield* one.errors.filter((inner): inner is SystemError => inner instanceof Error);
    yield one;
  }
}

/** Connecting to several addresses fails with an AggregateError, whose own message is empty. */
export function messageOf(error: Error): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return error.message || (inner instanceof Error ? inner.message : '') || ((error as SystemError).code ?? '') || error.name;
}
