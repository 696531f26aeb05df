/** Secrets of Standard Webhooks. */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
/** The standard allows 24 to 64 bytes. */
const SECRET_BYTES = 32;
/** The HMAC message that derives the secret of a `webhook_url` from the digest of a key. */
const DERIVED_FROM = 'webhook_url';

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The text form of a secret in answers. */
export function secretText(secret: Uint8Array): string {
  return PREFIX + Buffer.from(secret).toString('base64');
}

/**
 * The secret for a `webhook_url` without a webhook. The caller computes it from the API key, and the service from the stored digest.
 * @param keyDigest SHA-256 of the key
 */
export function secretOfKey(keyDigest: Uint8Array): Buffer {
  return createHmac('sha256', keyDigest).update(DERIVED_FROM).digest();
}
