/** The limits of requests and connections. */

export interface Limits {
  /** The body of a request, bytes. */
  readonly bodyBytes: number;
  /** All headers of a request together, bytes, and their number. */
  readonly headerBytes: number;
  readonly headers: number;
  /** A parameter in a path, such as a domain, characters. */
  readonly parameterLength: number;
  /** Time for the headers, for a complete request, and for an idle connection, milliseconds. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  /** How long a stream waits for a client that reads nothing, and an upload for a client that sends nothing, milliseconds. */
  readonly stalledMs: number;
  /** The lowest rate of an upload that takes longer than a request may, and of a download of results. */
  readonly transferBytesPerS: number;
  /** Uploads of batch parts at once, and as many downloads of results: in all, and of one key. */
  readonly transfers: number;
  readonly transfersPerKey: number;
  readonly connections: number;
  /** Connections of one address. Connections from this machine, such as a proxy's, are not counted by address. */
  readonly connectionsPerAddress: number;
  /** Requests in flight. */
  readonly inFlight: number;
  /** How long requests may queue for the one thread, milliseconds. */
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

/** How often slow connections are looked for, milliseconds: a tenth of the time for the headers. */
export function checkEveryMs({ headersTimeoutMs }: Limits): number {
  return Math.ceil(headersTimeoutMs / 10);
}
