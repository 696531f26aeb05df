/** Signatures of webhook deliveries (Standard Webhooks). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject } from '../../util/is-object.ts';
import type { EventData, EventName, WebhookTestEvent } from './models.ts';

const TOLERANCE_S = 300;

/** A delivery that the service did not sign, or not now. */
export class WebhookSignatureError extends Error {
  override readonly name = 'WebhookSignatureError';
}

/** A delivery with a right signature. `data` is typed by `type`. */
export type WebhookEvent = {
  readonly [Type in keyof EventData]: {
    /** The same at each attempt to deliver it: store the ids that you have seen. */
    readonly id: string;
    readonly type: Type;
    readonly timestamp: string;
    readonly data: EventData[Type] | WebhookTestEvent;
  };
}[keyof EventData];

/**
 * The event of a delivery.
 * @param body the exact bytes that came, not parsed
 * @param secrets `whsec_...`, or several while a secret is replaced
 * @param toleranceS the greatest distance of the delivery's time from now, seconds
 * @throws WebhookSignatureError unless the service signed it just now
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secrets: string | readonly string[],
  { toleranceS = TOLERANCE_S }: { readonly toleranceS?: number } = {},
): WebhookEvent {
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
  const bytes = Buffer.from(body);
  const wanted = (typeof secrets === 'string' ? [secrets] : secrets).map((secret) =>
    Buffer.from(`v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(bytes).digest('base64')}`),
  );
  const isSigned = signatures.split(' ').some((one) => wanted.some((other) => isSame(Buffer.from(one), other)));
  if (!isSigned) throw new WebhookSignatureError('no signature of the delivery fits its body and the secret');
  const event = parse(bytes.toString());
  return { id, ...event } as WebhookEvent;
}

function keyOf(secret: string): Buffer {
  const text = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new WebhookSignatureError('the secret is not whsec_ and Base64');
  const key = Buffer.from(text, 'base64');
  // One character of Base64 is no byte.
  if (key.length === 0) throw new WebhookSignatureError('the secret is empty');
  return key;
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function parse(text: string): { readonly type: EventName; readonly timestamp: string; readonly data: unknown } {
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json) && typeof json['type'] === 'string' && typeof json['timestamp'] === 'string') {
      return { type: json['type'], timestamp: json['timestamp'], data: json['data'] };
    }
  } catch {
    // Not JSON: as below.
  }
  throw new WebhookSignatureError('the body of the delivery is not an event');
}
