/** POST /v1/emails/verify and where its later answers are fetched, declared. */
import { HOLDS_DAYS } from '../../verification/evidence.ts';
import type { Operation } from '../http/operation.ts';
import { ref, type Body, type Schema } from '../http/body-schema.ts';
import { WEBHOOK_URL } from '../webhooks/webhook-operations.ts';

/** The specification's limit. */
export const MAX_EMAILS = 1_000;
const MAX_TIMEOUT_MS = 600_000;
/** Ten years, which is longer than any evidence holds. */
const MAX_AGE_S = 315_360_000;

export const VERIFY_BODY = {
  forms: [['emails'], ['email']],
  properties: {
    emails: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_EMAILS,
      description: 'Addresses, as they are: one that is none has a result too. Duplicates are kept, and charged once.',
      examples: [['jerome.noel@tundra-logistics.example', 'x@mailinator.com']],
    },
    email: {
      type: 'string',
      description: 'One address; the answer is then its result alone.',
      examples: ['jerome.noel@tundra-logistics.example'],
    },
    mode: {
      type: 'string',
      enum: ['full', 'dns', 'syntax'],
      default: 'full',
      description: '`dns` asks no mail server, `syntax` nobody at all.',
      examples: ['dns'],
    },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_TIMEOUT_MS,
      default: 25_000,
      description: 'When the answer comes at the latest; what is not known by then is `unknown` with the reason `pending`.',
      examples: [10_000],
    },
    max_age_s: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_AGE_S,
      description:
        'What the store has learnt longer ago than this settles nothing. Nor does, with or ' +
        `without it, a delivery of more than ${HOLDS_DAYS.delivered} days ago, a contact's status ` +
        `of more than ${HOLDS_DAYS.verified}, or a bounce of more than ${HOLDS_DAYS.bounced}.`,
      examples: [7_776_000],
    },
    webhook_url: {
      ...WEBHOOK_URL,
      description: `${WEBHOOK_URL.description} The request is answered 202, as with \`Prefer: respond-async\`.`,
    },
  },
} as const satisfies Body;

const RESULTS: Schema = { anyOf: [ref('VerificationBatch'), ref('Verification')] };
const PROGRESS_HEADERS = ['Location', 'Retry-After'];

export const VERIFY: Operation = {
  id: 'verifyEmails',
  method: 'POST',
  path: '/v1/emails/verify',
  tag: 'Verification',
  summary: `Verify one address, or up to ${MAX_EMAILS.toLocaleString('en')}`,
  description:
    'Counts as one request however many addresses there are. Each mailbox with a verdict other than ' +
    '`unknown` costs a credit. Of somebody who asked to be removed nothing is told: `email` is ' +
    'refused with 451, among `emails` their result is `unknown` with the reason `suppressed_person`.',
  headers: {
    Prefer: {
      description:
        '`respond-async` (or a `webhook_url`) is answered 202 at once, and the ' +
        'service comes back by itself to servers that say "later" (RFC 7240).',
      schema: { type: 'string' },
      example: 'respond-async',
    },
  },
  body: { name: 'VerifyRequest', declared: VERIFY_BODY },
  answers: {
    200: { description: 'For `emails` a batch in the order sent, for `email` its result.', content: { 'application/json': RESULTS } },
    202: {
      description: 'It has been begun; fetch it at `Location`.',
      content: { 'application/json': ref('VerificationProgress') },
      headers: [...PROGRESS_HEADERS, 'Preference-Applied'],
    },
  },
  problems: ['insufficient_credits', 'suppressed_person', 'too_many_emails'],
  examples: [
    { name: 'batch', summary: 'A batch', body: { emails: ['jerome.noel@tundra-logistics.example', 'x@mailinator.com'], mode: 'syntax' } },
    { name: 'one', summary: 'One address', body: { email: 'imani.irving@gmial.com', mode: 'syntax' } },
  ],
};

export const POLL_VERIFICATION: Operation = {
  id: 'getVerification',
  method: 'GET',
  path: '/v1/emails/verify/{id}',
  tag: 'Verification',
  summary: 'Fetch what was asked for later',
  description:
    'What an asynchronous verification found, once; where somebody was erased since, `email` is `null` and the reason ' +
    '`suppressed_person`; it is paid for when it is first fetched, with the key that asked, and kept for 24 hours.',
  inPath: { id: { description: 'From `Location`.', schema: { type: 'string' }, example: 'ver_0123456789abcdef0123456789abcdef' } },
  answers: {
    200: { description: 'What the POST would have answered.', content: { 'application/json': RESULTS } },
    202: { description: 'It is under way.', content: { 'application/json': ref('VerificationProgress') }, headers: PROGRESS_HEADERS },
  },
  problems: ['insufficient_credits', 'not_found', 'suppressed_person'],
};
