/** The operations of a provider definition: requests, what answers mean, batches, polls. */
import { z } from 'zod';
import { PROVIDER_KEYS } from '../../steps/keys.ts';
import { quota } from './quota-schema.ts';
import { BOUNDS, expecting, headerName, key, LEAF, leaf, optionalExpression, treeKey } from './schema-key.ts';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH'] as const;
const leafMap = (name: z.ZodString, what: string, description: string): z.ZodOptional<z.ZodRecord<z.ZodString, typeof leaf>> =>
  key(z.record(name, expecting(leaf, LEAF)).optional(), `a mapping of ${what} to JSONata expressions`, description);

const requestObject = z
  .strictObject({
    method: key(z.enum(METHODS).optional(), METHODS.join(', '), 'Default: GET, and POST with a body.'),
    baseUrl: key(z.string().max(BOUNDS.text).optional(), 'an http or https URL', "Replaces the provider's address for this request."),
    path: key(
      z.string().min(1).max(BOUNDS.text),
      'a path such as /people/{email}',
      'The path behind the address. {...} holds a JSONata expression, whose text is put in percent-encoded.',
    ),
    query: leafMap(
      z.string().min(1).max(BOUNDS.entries),
      'parameters',
      'Parameters. One that finds nothing is left out; a list repeats it.',
    ),
    headers: leafMap(headerName, 'header names', 'Headers of this request.'),
    body: treeKey('The body: an expression, or a mapping or list whose text leaves are expressions.'),
    bodyType: key(z.enum(['json', 'form']).optional(), 'json or form', 'How the body is written. Default: json.'),
  })
  .meta({ id: 'request' });
const request = (description: string): z.ZodOptional<typeof requestObject> =>
  key(requestObject.optional(), 'a mapping with method, path, query, headers, body', description);

const rule = optionalExpression;
const answersObject = z
  .strictObject({
    suppressed: rule('True when the person asked to be removed.'),
    wait: rule('True when the provider takes the lookup later; costs no retry.'),
    outOfCredits: rule('True when the credits are used up: the job stops.'),
    denied: rule('True when the API key is refused: the job stops.'),
    pending: rule('True when the answer comes later: see poll.'),
    match: rule('True when the answer has the record.'),
    miss: rule(
      'True when the provider knows no record. A success that neither match nor miss takes is refused as bad_shape; ' +
        'with miss alone, one that has no record.',
    ),
    refused: rule('True when this lookup is refused, and asking again does not help.'),
    retry: rule('True when the provider failed and another attempt may help.'),
    waitSeconds: key(
      leaf.optional(),
      LEAF,
      'Seconds until the provider takes requests again. Default: by Retry-After and the quota headers.',
    ),
    code: rule("The provider's error code."),
    message: rule("The provider's error message."),
  })
  .meta({ id: 'answers' });
const answers = (description: string): z.ZodOptional<typeof answersObject> =>
  key(answersObject.optional(), `a mapping with ${Object.keys(answersObject.shape).join(', ')}`, description);

const pollObject = z
  .strictObject({
    ticket: rule('Names the promise, from the answer that is pending. Default: the same request is repeated.'),
    request: request('The request that asks again. Its input has ticket, and next for a further page. Default: the same request.'),
    next: rule('What the request for the next page of the answer names as next. Nothing on the last page. Default: there is one page.'),
    firstSeconds: key(
      z.number().min(0.1).max(BOUNDS.pollSeconds).optional(),
      `seconds, from 0.1 to ${BOUNDS.pollSeconds}`,
      'Seconds before the first poll. Default: everySeconds. A Retry-After makes any wait longer.',
    ),
    everySeconds: key(
      z.number().min(0.1).max(BOUNDS.pollSeconds).default(5),
      `seconds, from 0.1 to ${BOUNDS.pollSeconds}`,
      'Seconds between two polls.',
    ),
    growth: key(
      z.number().min(1).max(10).default(1),
      'a number from 1 to 10',
      'The factor by which each wait is longer than the one before. No wait grows beyond a minute.',
    ),
    longestSeconds: key(
      z.number().min(1).max(BOUNDS.pollSeconds).default(600),
      `seconds, from 1 to ${BOUNDS.pollSeconds}`,
      'Seconds after the first request when the lookup fails. A retry asks for the answer once more.',
    ),
    maxOpen: key(
      z.int().min(1).max(BOUNDS.concurrency).optional(),
      `a whole number from 1 to ${BOUNDS.concurrency}`,
      'Promises that may be open at once. Default: any number.',
    ),
    quota: quota('Where polls have a quota of their own. Default: they count as the requests that are answered later.'),
  })
  .meta({ id: 'poll' });
const poll = (description: string): z.ZodOptional<typeof pollObject> =>
  key(pollObject.optional(), 'a mapping with ticket, request, everySeconds', description);

const batchObject = z
  .strictObject({
    size: key(z.int().min(2).max(BOUNDS.batch), `a whole number from 2 to ${BOUNDS.batch}`, 'Lookups that one request carries at most.'),
    request: request('The request. Its input has lookups: a list of the keys of each lookup, with its id.'),
    items: key(leaf, LEAF, 'The list of answers.'),
    itemStatus: rule('The status by which an item is judged; its input is the item. Default: that of the request.'),
    itemId: rule("The id or the key of the item's lookup; its input is the item. Default: by position."),
    answers: answers('What the answer as a whole means. Default: the rules of the operation without match, miss and refused.'),
    credits: key(leaf.optional(), LEAF, 'Credits of the whole request. Default: the sum over its items.'),
    quota: quota('Where batches have a quota of their own.'),
    poll: poll('How an answer to a batch that comes later is asked for again. Default: as the operation says.'),
  })
  .meta({ id: 'batch' });

/** The types of a custom step's columns, as a definition writes them. */
export const COLUMN_TYPES = ['text', 'integer', 'number', 'boolean', 'list', 'any'] as const;

const operationObject = z
  .strictObject({
    columns: key(
      z
        .record(z.string().regex(/^(?!source$)[A-Za-z][A-Za-z0-9_]{0,63}$/), expecting(z.enum(COLUMN_TYPES), COLUMN_TYPES.join(', ')))
        .refine((columns) => Object.keys(columns).length <= BOUNDS.entries)
        .optional(),
      `a mapping of fields to ${COLUMN_TYPES.join(', ')}`,
      'Only of a custom step: the fields of its record that become columns, with their types, such as {line_type: text}.',
    ),
    decides: key(
      z.boolean().default(false),
      'true or false',
      'Only of a custom step: it decides the outcome of a record for which enrich, reveal and company have no key.',
    ),
    keys: key(
      z
        .array(expecting(z.enum(PROVIDER_KEYS), PROVIDER_KEYS.join(', ')))
        .min(1)
        .max(PROVIDER_KEYS.length)
        .optional(),
      `a list out of ${PROVIDER_KEYS.join(', ')}`,
      'The keys that the operation takes, in order of preference. Default: email for verify, domain for company.',
    ),
    request: request('The request for one lookup. Its input: email, domain, linkedin_url, phone, name, first_name, last_name, company.'),
    answers: answers(
      'What an answer means: the first of these that is true decides, in this order. Their input: status, headers, body. ' +
        'Default: by the status.',
    ),
    record: treeKey('The record in our terms, by field: email, name, title, company and so on. Its input: status, headers, body.'),
    credits: key(leaf.optional(), LEAF, 'Credits that an answer has cost. Default: by the header X-Credits-Charged, else none.'),
    creditsAtMost: key(
      z.number().min(0).max(BOUNDS.credits).default(1),
      `a number from 0 to ${BOUNDS.credits}`,
      'The most credits that one lookup costs, for limits and forecasts.',
    ),
    creditsAt: key(
      z.enum(['submit', 'answer']).default('answer'),
      'submit or answer',
      'When credits are taken. submit: with a request that is answered later, and those of a miss are given back with the answer.',
    ),
    batch: key(batchObject.optional(), 'a mapping with size, request, items', 'One request for several lookups.'),
    poll: poll('How an answer that comes later is asked for again.'),
    quota: quota('Where the operation has a quota of its own.'),
  })
  .meta({ id: 'operation' });

const OPERATION = 'a mapping with keys, request, answers, record';

export const operation = (description: string): z.ZodOptional<typeof operationObject> =>
  key(operationObject.optional(), OPERATION, description);

/** The operation of a custom step. */
export const ownOperation = expecting(operationObject, OPERATION);
