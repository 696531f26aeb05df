/**
 * Encrypts the secret in an answer that is stored for its Idempotency-Key. That key encrypts it; the store has only half a digest of it.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The purpose of the derived key (RFC 5869 3.2). */
const PURPOSE = 'millrace: secret of an answer';

/** Base64 of nonce, tag and encrypted secret. @param passphrase known to a client that repeats the request */
export function sealSecret(secret: string, passphrase: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(passphrase, nonce), nonce);
  const encrypted = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
}

/** @throws Error when another passphrase sealed it, or it is damaged */
export function openSecret(sealed: string, passphrase: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(passphrase, nonce), nonce);
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
}

function keyOf(passphrase: string, nonce: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', passphrase, nonce, PURPOSE, KEY_BYTES));
}
