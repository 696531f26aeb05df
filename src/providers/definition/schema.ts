/** The one schema of a provider definition. `docs/provider.schema.json` is made of it: `node src/providers/definition/write-schema.ts`. */
import { z } from 'zod';
import { operation, ownOperation } from './operation-schema.ts';
import { quota } from './quota-schema.ts';
import { eachStep, STEPS } from '../../steps/registry.ts';
import { BOUNDS, expecting, HEADER, headerName, key } from './schema-key.ts';

export const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,39}$/;
const text = z.string().min(1).max(BOUNDS.text);
const path = text.regex(/^[^\u0000-\u001f\u007f]+$/).optional();

const authentication = z.strictObject({
  bearer: key(z.literal(true).optional(), 'true', 'The API key in the header Authorization: Bearer KEY.'),
  header: key(headerName.optional(), HEADER, 'The header that carries the API key.'),
  prefix: key(z.string().max(40).optional(), 'text', 'Put before the API key in that header, such as "Token ". Default: nothing.'),
  query: key(text.optional(), "a parameter's name", 'The parameter that carries the API key.'),
  body: key(
    text.optional(),
    "a field's name",
    'The field of a JSON or form body that carries the API key. With query too: requests without a body carry it there.',
  ),
  basic: key(
    z
      .strictObject({
        user: key(z.string().max(200).optional(), 'text', 'The user name; the API key is then the password.'),
        password: key(z.string().max(200).optional(), 'text', 'The password; the API key is then the user name.'),
      })
      .optional(),
    'a mapping with either user or password',
    'HTTP basic authentication. The part that is left out is the API key.',
  ),
});

export const providerSchema = z
  .strictObject({
    name: key(
      z.string().regex(PROVIDER_NAME).optional(),
      'lower-case letters, digits and -, such as acme-data',
      "The provider's name. Default: the file's base name.",
    ),
    title: key(text.optional(), 'text', "The provider's name for people."),
    documentation: key(
      z.array(expecting(text, 'a URL')).max(BOUNDS.documentation).optional(),
      'a list of URLs',
      'The pages that the definition was written from.',
    ),
    readOn: key(z.iso.date().optional(), 'a day written YYYY-MM-DD', 'The day on which those pages were read.'),
    use: key(
      text.optional(),
      'the name of a definition, or a path',
      'Starts from another definition. Keys here replace those there, mappings merge, and null takes a key away.',
    ),
    client: key(
      z.enum(['declared', 'built-in']).default('declared'),
      'declared or built-in',
      "built-in: the typed client of the specification's service answers. Only for the definition millrace.",
    ),
    baseUrl: key(text.optional(), 'an http or https URL', 'The address in front of the paths. Left out: a job must name it.'),
    authentication: key(
      authentication.optional(),
      'a mapping with one of bearer, header, query, body, basic',
      'How requests carry the API key. The key itself comes from MILLRACE_NAME_API_KEY or MILLRACE_NAME_API_KEY_FILE.',
    ),
    headers: key(
      z.record(headerName, expecting(text, 'text')).optional(),
      'a mapping of header names to text',
      'Sent with every request, as they stand.',
    ),
    tls: key(
      z
        .strictObject({
          caFile: key(path, 'a path', 'PEM file of the authorities to trust.'),
          certFile: key(path, 'a path', 'PEM file of the client certificate.'),
          keyFile: key(path, 'a path', 'PEM file of its key.'),
        })
        .optional(),
      'a mapping with caFile, certFile, keyFile',
      'TLS files; paths start at the folder of the definition.',
    ),
    timeoutMs: key(
      z.int().min(BOUNDS.timeoutMs[0]).max(BOUNDS.timeoutMs[1]).default(30_000),
      `milliseconds, a whole number from ${BOUNDS.timeoutMs[0]} to ${BOUNDS.timeoutMs[1]}`,
      'Longest wait for one answer, in milliseconds.',
    ),
    concurrency: key(
      z.union([z.literal('auto'), z.int().min(1).max(BOUNDS.concurrency)]).default('auto'),
      `auto, or a whole number from 1 to ${BOUNDS.concurrency}`,
      'Requests in flight at once. auto: as many as quota and latency call for.',
    ),
    idempotency: key(
      z.strictObject({ header: key(headerName, HEADER, 'The header that carries the idempotency key.') }).optional(),
      'a mapping such as {header: Idempotency-Key}',
      'Only where the provider documents that it answers a repeated request once.',
    ),
    absent: key(
      z.array(expecting(text, 'text')).min(1).max(BOUNDS.absent).optional(),
      'a list of texts',
      'Texts that stand for no value, such as the address of a person who was not unlocked. A record has no such field.',
    ),
    defaultPlan: key(z.string().max(40).optional(), 'the name of a plan', 'The plan of a job that names none.'),
    quota: quota('How many requests the provider takes.'),
    operations: key(
      z.object(eachStep(({ description }) => operation(description))).catchall(ownOperation),
      `a mapping with ${STEPS.join(', ')}, or a custom step`,
      'The steps of a job that the provider answers. Any other name is a custom step.',
    ),
  })
  .describe('A provider of contact data: its HTTP interface as data. Expressions are JSONata.');

/** A definition's content with defaults, before relations are checked. */
export type RawProvider = z.output<typeof providerSchema>;
export type RawOperation = NonNullable<RawProvider['operations']['enrich']>;
export type RawRequest = NonNullable<RawOperation['request']>;
export type RawAnswers = NonNullable<RawOperation['answers']>;
export type RawBatch = NonNullable<RawOperation['batch']>;
export type RawPoll = NonNullable<RawOperation['poll']>;
export type RawQuota = NonNullable<RawProvider['quota']>;
