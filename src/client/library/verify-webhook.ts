/** Signatures of webhook deliveries (Standard Webhooks), by the Web Crypto of the platform. */
import { isObject } from '../../util/is-object.ts';
import type { EventData, EventName, WebhookTestEvent } from './models.ts';

const TOLERANCE_S = 300;

/** A delivery that the service did not sign, or not now. */
export class WebhookSignatureError extends Error {
  override readonly name = 'WebhookSignatureError';
}

interface Delivered {
  /** The same at each attempt to deliver it: store the ids that you have seen. */
  readonly id: string;
  readonly timestamp: string;
}

/** A delivery with a right signature. `data` is typed by `type`, once `test` is known to be false. */
export type WebhookEvent =
  | (Delivered & { readonly type: EventName; readonly test: true; readonly data: WebhookTestEvent })
  | {
      readonly [Type in keyof EventData]: Delivered & { readonly type: Type; readonly test: false; readonly data: EventData[Type] };
    }[keyof EventData];

/**
 * The event of a delivery.
 * @param body the exact bytes that came, not parsed
 * @param secrets `whsec_...`, or several while a secret is replaced
 * @param toleranceS the greatest distance of the delivery's time from now, seconds
 * @throws WebhookSignatureError unless the service signed it just now; TypeError without a usable secret or a body
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secrets: string | readonly string[],
  { toleranceS = TOLERANCE_S }: { readonly toleranceS?: number } = {},
): Promise<WebhookEvent> {
  const keys = await keysOf(secrets);
  const given = new Map(
    [...(headers instanceof Headers ? headers : Object.entries(headers))].map(([name, value]) => [name.toLowerCase(), value]),
  );
  const headerOf = (name: string): string => {
    const value = given.get(name);
    const text = Array.isArray(value) ? value.join(' ') : value;
    if (typeof text !== 'string' || text === '') throw new WebhookSignatureError(`the delivery has no header ${name}`);
    return text;
  };
  const [id, timestamp, signatures] = [headerOf('webhook-id'), headerOf('webhook-timestamp'), headerOf('webhook-signature')];
  if (!/^\d+$/.test(timestamp)) throw new WebhookSignatureError('webhook-timestamp is not a whole number of seconds');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceS) {
    throw new WebhookSignatureError(`webhook-timestamp is more than ${toleranceS} seconds away from now`);
  }
  const text = textOf(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const checks = signatures.split(' ').flatMap((one) => keys.map((key) => isSigned(key, one, signed)));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookSignatureError('no signature of the delivery fits its body and the secret');
  }
  return { id, ...eventIn(text) } as WebhookEvent;
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

async function keysOf(secrets: string | readonly string[]): Promise<Key[]> {
  const all = typeof secrets === 'string' ? [secrets] : (secrets ?? []);
  if (all.length === 0) throw new TypeError('secrets: the secret is empty');
  return await Promise.all(
    all.map((secret) => {
      const key = bytesOf(typeof secret === 'string' ? secret.replace(/^whsec_/, '') : '');
      if (key === null) throw new TypeError('secrets: the secret is not whsec_ and Base64');
      if (key.length === 0) throw new TypeError('secrets: the secret is empty');
      return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    }),
  );
}

/** The comparison takes the same time for each signature. */
async function isSigned(key: Key, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const [, base64 = ''] = /^v1,(.+)$/.exec(signature) ?? [];
  const bytes = bytesOf(base64);
  return bytes !== null && (await crypto.subtle.verify('HMAC', key, bytes, signed));
}

/** The bytes of Base64, else null. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return null;
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function textOf(body: string | Uint8Array): string {
  const isGiven = typeof body === 'string' || body instanceof Uint8Array;
  if (!isGiven || body.length === 0) {
    throw new TypeError('body: pass the bytes as they came; a framework that has parsed them leaves none');
  }
  return typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}

function eventIn(text: string): {
  readonly type: EventName;
  readonly timestamp: string;
  readonly test: boolean;
  readonly data: unknown;
} {
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json) && typeof json['type'] === 'string' && typeof json['timestamp'] === 'string') {
      const { type, timestamp, data } = json;
      return { type, timestamp, test: isObject(data) && data['test'] === true, data };
    }
  } catch {
    // Not JSON: as below.
  }
  throw new WebhookSignatureError('the body of the delivery is not an event');
}
