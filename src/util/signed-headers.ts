import { createHmac } from 'node:crypto';

/**
 * The headers of Standard Webhooks (version 1: HMAC-SHA256): id, timestamp and signatures.
 * @param secrets all valid secrets: each makes one signature, and the receiver accepts any of them
 * @param atMs the time of the attempt, epoch milliseconds
 */
export function signedHeaders(secrets: readonly Uint8Array[], id: string, atMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
