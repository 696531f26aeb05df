/** Makes the objects that examples name by an id: each example has one of its own, in the state that its operation needs. */
import { Receiver } from '../../../clients/conformance/deliveries.ts';
import { SAMPLE_KEY } from '../../../src/service/sample/sample-store.ts';

/** Uploaded by examples. */
export const LEADS = [
  { custom_id: 'a', email: 'jerome.noel@tundra-logistics.example' },
  { custom_id: 'b', email: 'nobody@acme.example' },
]
  .map((lead) => `${JSON.stringify(lead)}\n`)
  .join('');

/** Real ids, by those of the published examples. */
export type Ids = Readonly<Record<string, string>>;

const JOB = 'bat_0123456789abcdef0123456789abcdef';
const WEBHOOK = 'wh_0123456789abcdef';
const DELIVERY = 'msg_0123456789abcdefghijkl';
const VERIFICATION = 'ver_0123456789abcdef0123456789abcdef';

export class FreshObjects {
  readonly #service: string;
  readonly #receiver: Receiver;

  private constructor(service: string, receiver: Receiver) {
    this.#service = service;
    this.#receiver = receiver;
  }

  /** @param service its URL */
  static async start(service: string): Promise<FreshObjects> {
    return new FreshObjects(service, await Receiver.start());
  }

  close(): void {
    this.#receiver.close();
  }

  /** The objects of an operation's example. */
  async make(operation: string): Promise<Ids> {
    switch (operation) {
      case 'getVerification':
        return { [VERIFICATION]: await this.#verification() };
      case 'putBatchPart':
      case 'getBatch':
      case 'changeBatch':
      case 'cancelBatch':
        return { [JOB]: await this.#job() };
      case 'completeBatch':
        return { [JOB]: await this.#filledJob() };
      case 'getBatchResults':
        return { [JOB]: await this.#completedJob() };
      case 'deleteBatch':
        return { [JOB]: await this.#cancelledJob() };
      case 'listWebhookDeliveries':
      case 'redeliverWebhook':
        return this.#delivery();
      case 'getWebhook':
      case 'changeWebhook':
      case 'deleteWebhook':
      case 'rotateWebhookSecret':
      case 'testWebhook':
      case 'listWebhooks':
        return { [WEBHOOK]: await this.#webhook('funding.round') };
      default:
        return {};
    }
  }

  async #job(): Promise<string> {
    return (await this.#call('POST', '/v1/batches', { operation: 'enrich', max_credits: 5 })).id;
  }

  async #filledJob(): Promise<string> {
    const id = await this.#job();
    await this.#call('PUT', `/v1/batches/${id}/parts/1`, LEADS);
    return id;
  }

  async #completedJob(): Promise<string> {
    const id = await this.#filledJob();
    await this.#call('POST', `/v1/batches/${id}/complete`);
    while ((await this.#call('GET', `/v1/batches/${id}`)).state !== 'completed');
    return id;
  }

  async #cancelledJob(): Promise<string> {
    const id = await this.#job();
    await this.#call('POST', `/v1/batches/${id}/cancel`);
    while ((await this.#call('GET', `/v1/batches/${id}`)).state !== 'cancelled');
    return id;
  }

  async #webhook(event: string): Promise<string> {
    return (await this.#call('POST', '/v1/webhooks', { event, url: this.#receiver.url })).id;
  }

  async #delivery(): Promise<Ids> {
    const webhook = await this.#webhook('enrichment.completed');
    await this.#call('POST', '/v1/enrich', { email: 'jerome.noel@tundra-logistics.example' });
    let delivery: string | undefined;
    while (delivery === undefined) delivery = (await this.#call('GET', `/v1/webhooks/${webhook}/deliveries`)).data?.[0]?.id;
    return { [WEBHOOK]: webhook, [DELIVERY]: delivery };
  }

  async #verification(): Promise<string> {
    const body = { emails: ['jerome.noel@tundra-logistics.example'], mode: 'syntax' };
    return (await this.#call('POST', '/v1/emails/verify', body, { prefer: 'respond-async' })).id;
  }

  /** @throws Error for an answer of 400 and above */
  async #call(method: string, path: string, body?: unknown, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json';
    const response = await fetch(this.#service + path, {
      method,
      headers: { authorization: `Bearer ${SAMPLE_KEY}`, ...(body === undefined ? {} : { 'content-type': type }), ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Answer;
  }
}

interface Answer {
  readonly id: string;
  readonly state?: string;
  readonly data?: readonly { readonly id: string }[];
}
