/** Webhook events in the OpenAPI document. Pure. */
import { EVENTS } from '../webhooks/event-schema.ts';
import { TIME, whole } from '../records/schemas/record-schema.ts';
import { ref, type Schema } from '../http/body-schema.ts';

/** Headers of every delivery (Standard Webhooks). */
const HEADERS = [
  ['webhook-id', 'Of the event: the same at each attempt.', 'msg_0123456789abcdefghijkl'],
  ['webhook-timestamp', 'When this attempt was made, in seconds since 1970.', '1674087231'],
  [
    'webhook-signature',
    '`v1,` and the HMAC-SHA256, in Base64, of `{webhook-id}.{webhook-timestamp}.{body}` by the secret of the webhook; two with a ' +
      'space between them while a secret is replaced.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
] as const;

const ANSWERS: Schema = {
  '2XX': { description: 'It was received.' },
  410: { description: 'Nothing more is wanted: the webhook is disabled.' },
  default: {
    description: 'It is sent again, after a while. So it is where nothing is answered within 15 seconds; a redirect is not followed.',
  },
};

/** By type of event. */
export function webhookItems(): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    Object.entries(EVENTS).map(([type, { summary, description, data }]) => [
      type,
      {
        post: {
          tags: ['Webhooks'],
          summary,
          description,
          security: [],
          parameters: HEADERS.map(([name, says, example]) => ({
            name,
            in: 'header',
            required: true,
            description: says,
            schema: { type: 'string' },
            example,
          })),
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: whole({
                  type: { type: 'string', const: type },
                  timestamp: { ...TIME, description: 'When it was noticed.' },
                  data: { anyOf: [data, ref('WebhookTestEvent')] },
                }),
              },
            },
          },
          responses: ANSWERS,
        },
      },
    ]),
  );
}
