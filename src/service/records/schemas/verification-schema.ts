/** The published schema of a verification result. */
import { nullable, ref, type Schema } from '../../http/body-schema.ts';
import { BOOLEAN, COUNT, INTEGER, STRING, TIME, whole } from './record-schema.ts';

const RESULT: Schema = { type: 'string', enum: ['deliverable', 'undeliverable', 'risky', 'unknown'] };

const FLAGS = whole(
  {
    disposable: BOOLEAN,
    relay: BOOLEAN,
    role: BOOLEAN,
    free: BOOLEAN,
    accept_all: nullable(BOOLEAN),
    mailbox_full: BOOLEAN,
    disabled: BOOLEAN,
    smtputf8: BOOLEAN,
  },
  '`relay`: mail is forwarded to a mailbox elsewhere. `mailbox_full`, `disabled`: ' +
    'a mail server says so. `accept_all` is `null` where it is not known.',
);

export const VERIFICATION: Schema = whole(
  {
    email: {
      type: ['string', 'null'],
      description: 'As it was sent; `null`: of somebody who was erased after they were asked about.',
      examples: ['imani.irving@gmial.com'],
    },
    normalized: {
      ...nullable(STRING),
      description: 'The mailbox that is meant; `null`: it is no address, or its owner asked to be removed.',
    },
    result: RESULT,
    reason: { type: 'string', description: 'Why; there may be others than those that the reference names.', examples: ['possible_typo'] },
    confidence: { type: 'integer', minimum: 0, maximum: 100, description: 'The sum of the points of `score_factors`.' },
    verified: { type: 'boolean', description: 'Whether `result` is `deliverable`.' },
    flags: FLAGS,
    did_you_mean: { ...nullable(STRING), description: 'What was probably meant.' },
    domain: whole({ ascii: nullable(STRING), unicode: nullable(STRING), registrable: nullable(STRING) }),
    mx: {
      ...nullable(
        whole({
          found: BOOLEAN,
          implicit: BOOLEAN,
          null_mx: BOOLEAN,
          records: { type: 'array', items: whole({ preference: INTEGER, host: STRING }) },
          provider: nullable(STRING),
        }),
      ),
      description: '`null`: DNS was not asked, or did not say.',
    },
    smtp: {
      ...nullable(
        whole({
          stage: STRING,
          host: STRING,
          code: nullable(INTEGER),
          enhanced_code: nullable(STRING),
          message: STRING,
          tls: BOOLEAN,
          greylisted: BOOLEAN,
        }),
      ),
      description: '`null`: no mail server was asked.',
    },
    checks: {
      type: 'array',
      description: 'What each stage found, and how long it took, milliseconds.',
      items: whole({
        name: { type: 'string', enum: ['syntax', 'lists', 'evidence', 'dns', 'smtp'] },
        result: STRING,
        detail: nullable(STRING),
        ms: { type: 'number', minimum: 0 },
      }),
    },
    score_factors: { type: 'array', items: whole({ factor: STRING, points: INTEGER }) },
    score_version: INTEGER,
    attempts: { ...COUNT, description: 'Conversations with mail servers.' },
    retry_at: { ...nullable(TIME), description: 'When it is worth asking again.' },
    verified_at: { ...TIME, description: 'When what the verdict rests on was learnt.' },
    expires_at: nullable(TIME),
    cached: { type: 'boolean', description: 'The verdict rests on something learnt earlier.' },
  },
  'Whether an address takes mail.',
);

const SUMMARY = whole({ deliverable: COUNT, undeliverable: COUNT, risky: COUNT, unknown: COUNT }, 'How many there are of each result.');

export const VERIFICATION_BATCH: Schema = whole({
  data: { type: 'array', items: ref('Verification'), description: 'In the order sent.' },
  summary: SUMMARY,
});

export const VERIFICATION_PROGRESS: Schema = whole({
  id: STRING,
  status: { type: 'string', enum: ['in_progress'] },
  location: { type: 'string', description: 'Where to ask for it.' },
  total: { ...COUNT, description: 'Different addresses.' },
  settled: { ...COUNT, description: 'Of them, those whose result will not change.' },
});

/** The webhook event for an asynchronous verification. */
export const VERIFICATION_DONE: Schema = whole(
  {
    id: STRING,
    location: { type: 'string', description: 'Where its results are.' },
    total: { ...COUNT, description: 'Results.' },
    summary: SUMMARY,
  },
  'An asynchronous verification that is done.',
);
