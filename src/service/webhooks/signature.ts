/** Secrets and signatures of Standard Webhooks (version 1: HMAC-SHA256). */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
/** The standard wants 24 to 64. */
const SECRET_BYTES = 32;
/** What the secret of addresses that have no webhook is made of, with the digest of the key. */
const DERIVED_FROM = 'webhook_url';

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** A secret as it is shown. */
export function secretText(secret: Uint8Array): string {
  return PREFIX + Buffer.from(secret).toString('base64');
}

/** The secret that signs what goes to a `webhook_url` without a webhook: whoever has the API key can make it, and so can the store. @param keyDigest SHA-256 of the key */
export function secretOfKey(keyDigest: Uint8Array): Buffer {
  return createHmac('sha256', keyDigest).update(DERIVED_FROM).digest();
}

/** The headers that say who sends, and when. @param secrets those in force; the receiver takes a signature by any of them @param atMs of the attempt, epoch milliseconds */
export function signedHeaders(secrets: readonly Uint8Array[], id: string, atMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
