/** Webhook deliveries: a receiver, and signed and forged deliveries as scenarios name them. */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { Values } from './check.ts';

interface Delivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers 204 to every delivery, and keeps the last of each path. */
export class Receiver {
  readonly received = new Map<string, Delivery>();
  readonly #server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const signed = Object.entries(request.headers).filter(([name]) => name.startsWith('webhook-'));
      this.received.set(request.url ?? '', { body: body.toString(), headers: Object.fromEntries(signed) as Record<string, string> });
      response.writeHead(204).end();
    });
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/**
 * A delivery that the service at `url` signed, one that the public library signed, and forgeries of both.
 * @throws Error when the public library refuses the delivery of the service
 */
export async function deliveryValues(url: string, key: string, receiver: Receiver): Promise<Values> {
  const post = async (path: string, body?: unknown): Promise<Record<string, string>> => {
    const json = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(url + path, {
      method: 'POST',
      ...json,
      headers: { authorization: `Bearer ${key}`, ...json.headers },
    });
    return (await response.json()) as Record<string, string>;
  };
  // Other languages use the receiver too.
  const own = new URL(`/${randomBytes(8).toString('hex')}`, receiver.url);
  const { id, secret = '' } = await post('/v1/webhooks', { event: 'funding.round', url: own.href });
  await post(`/v1/webhooks/${id}/test`);
  const real = receiver.received.get(own.pathname);
  if (real === undefined) throw new Error('the service sent no test delivery');
  const { body, headers } = real;
  const delivery = { body, headers, secrets: secret };
  // Accepted by the public library, or the service signs wrongly.
  new Webhook(secret).verify(body, headers);
  const standardBody = JSON.stringify({
    type: 'batch.completed',
    timestamp: new Date().toISOString(),
    data: { id: 'bat_1', state: 'completed' },
  });
  const signedAt = (secondsAgo: number, text: string): Values => {
    const at = new Date(Date.now() - secondsAgo * 1000);
    const signature = new Webhook(secret).sign('msg_standard', at, text);
    return {
      body: text,
      headers: {
        'Webhook-Id': 'msg_standard',
        'Webhook-Timestamp': String(Math.floor(at.getTime() / 1000)),
        'Webhook-Signature': signature,
      },
      secrets: secret,
    };
  };
  const other = `whsec_${randomBytes(32).toString('base64')}`;
  // Anyone can sign with an empty key.
  const signedWithoutKey = createHmac('sha256', '').update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const withoutKey = { body, headers: { ...headers, 'webhook-signature': `v1,${signedWithoutKey.digest('base64')}` } };
  const oddHeaders = { ...headers, 'webhook-timestamp': 'soon' };
  const odd = `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${headers['webhook-id']}.soon.${body}`)
    .digest('base64')}`;
  return {
    delivery,
    standard_delivery: signedAt(0, standardBody),
    delivery_with_two_secrets: {
      ...delivery,
      secrets: [other, secret],
      headers: { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` },
    },
    forged_body: { ...delivery, body: body.replace('true', 'true ') },
    forged_id: { ...delivery, headers: { ...headers, 'webhook-id': 'msg_forged' } },
    forged_signature: { ...delivery, headers: { ...headers, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` } },
    other_secret: { ...delivery, secrets: other },
    old_delivery: signedAt(400, body),
    future_delivery: signedAt(-5_000, body),
    almost_old_delivery: signedAt(100, body),
    without_headers: { ...delivery, headers: {} },
    empty_secret: { ...withoutKey, secrets: '' },
    secret_without_key: { ...withoutKey, secrets: 'whsec_' },
    empty_second_secret: { ...delivery, secrets: [secret, ''] },
    no_secrets: { ...withoutKey, secrets: [] },
    odd_secret: { ...delivery, secrets: 'whsec_***' },
    empty_body: { ...delivery, body: '' },
    huge_timestamp: { ...delivery, headers: { ...headers, 'webhook-timestamp': '9'.repeat(5000) } },
    odd_timestamp: { ...delivery, headers: { ...oddHeaders, 'webhook-signature': odd } },
  };
}
