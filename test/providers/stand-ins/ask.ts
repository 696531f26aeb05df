/** Requests that the tests of the stand-ins send. */
import { onTestFinished } from 'vitest';
import { DEFAULT_API_KEY, type StandIn } from './stand-in.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body, or its text when it is not JSON. */
  readonly body: unknown;
}

/** Parts of a request that differ from the usual. */
interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Closes the stand-in after the test. */
export async function opened(starting: Promise<StandIn>): Promise<StandIn> {
  const standIn = await starting;
  onTestFinished(() => standIn.close());
  return standIn;
}

/** Sends a GET without a body, or a POST with a JSON body, with the key in `x-api-key`. `init` changes either. */
export async function ask(standIn: StandIn, path: string, body?: unknown, init: Init = {}): Promise<Answered> {
  const response = await fetch(`${standIn.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...init,
    headers: { 'x-api-key': DEFAULT_API_KEY, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...init.headers },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text };
}
