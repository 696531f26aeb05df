/** What the service takes of anybody, named once. */

export interface Limits {
  /** Of a request's body, bytes. */
  readonly bodyBytes: number;
  /** Of all of a request's headers, bytes, and how many there may be. */
  readonly headerBytes: number;
  readonly headers: number;
  /** Of a part of a path, such as a domain, characters. */
  readonly parameterLength: number;
  /** How long the headers may take to arrive, a whole request, and how long an idle connection stays open, milliseconds. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  /** How long a stream waits for a client that takes nothing of it, and a part of a batch job for one that sends nothing, milliseconds. */
  readonly stalledMs: number;
  /** How fast a part must come at the least once it has taken as long as a whole request may, and results must be taken. */
  readonly transferBytesPerS: number;
  /** Parts of batch jobs that are on their way, and results of them that are being read, so many of each: of everybody, and of one key. */
  readonly transfers: number;
  readonly transfersPerKey: number;
  readonly connections: number;
  /** Of one address; what comes from this machine, such as a proxy, is everybody's. */
  readonly connectionsPerAddress: number;
  /** Requests that are not answered. */
  readonly inFlight: number;
  /** How long requests may stand in line for the one thread, milliseconds. */
  readonly lineMs: number;
}

export const LIMITS: Limits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  headers: 100,
  parameterLength: 2_048,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 75_000,
  stalledMs: 60_000,
  transferBytesPerS: 8 * 1024,
  transfers: 200,
  transfersPerKey: 20,
  connections: 10_000,
  connectionsPerAddress: 1_000,
  inFlight: 2_000,
  lineMs: 250,
};

/** How often it is looked for connections that are too slow, milliseconds: a tenth of what they may take at the most. */
export function checkEveryMs({ headersTimeoutMs }: Limits): number {
  return Math.ceil(headersTimeoutMs / 10);
}
