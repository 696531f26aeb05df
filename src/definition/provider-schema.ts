/** The section `providers` of a job file: whom the steps ask, beside or in place of `service`. */
import { z } from 'zod';
import { PRICE_TEXT } from './credit-price.ts';
import { BOUNDS, key, uri } from './schema-key.ts';
import { fieldName, windowList } from './service-schema.ts';

const MOST_PROVIDERS = 16;
/** As in a variable: `my-pdl` has its key in `MILLRACE_MY_PDL_API_KEY`. */
const NAME = /^(?!constructor$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const LONGEST_NAME = 40;
const count = z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable();

export const jobProvider = z
  .strictObject({
    use: z.string().min(1).max(BOUNDS.uri).optional().describe('A definition: a name under jobs/providers, or a path. Default: the name.'),
    baseUrl: uri.optional().describe("Replaces the definition's address."),
    embedded: z
      .boolean()
      .default(false)
      .describe('Ask a data service with the sample set inside the run, without an address: for millrace alone.'),
    plan: z.string().min(1).max(BOUNDS.column).optional().describe("A plan of the definition. Default: the definition's."),
    rpm: z.int().min(1).max(BOUNDS.rpm).optional().describe("Requests a minute, in place of the plan's."),
    windows: windowList.optional().describe("Quota windows, in place of the plan's, such as [10/second, 5000/day]."),
    quota: uri
      .nullable()
      .default(null)
      .describe('The Redis server on which all runs with this provider and key share its requests a minute: redis://host:port/database.'),
    fields: z
      .strictObject({ domain: fieldName.default('domain') })
      .optional()
      .describe('The name under which /v1/enrich takes a domain, as service.fields.domain: for millrace alone.'),
    concurrency: z
      .union([z.literal('auto'), z.int().min(1).max(BOUNDS.concurrency)])
      .optional()
      .describe('Requests in flight at once.'),
    timeoutMs: z
      .int()
      .min(BOUNDS.timeoutMs[0])
      .max(BOUNDS.timeoutMs[1])
      .optional()
      .describe('Longest wait for one answer, in milliseconds.'),
    onUnavailable: z
      .enum(['wait', 'skip'])
      .default('wait')
      .describe(
        'When the provider stays away, is out of credits or asks to wait for too long: wait ends the run as limits has it, and skip goes ' +
          'on without this provider.',
      ),
    maxCalls: count.default(null).describe('Calls at most over the whole job.'),
    maxCredits: count.default(null).describe('Credits at most over the whole job.'),
    creditPrice: z.string().regex(PRICE_TEXT).nullable().default(null).describe('What a credit costs, such as 0.012 EUR.'),
  })
  .describe('A provider of this job.');

export const providers = key(
  z
    .record(z.string().regex(NAME).max(LONGEST_NAME), jobProvider)
    .refine((all) => Object.keys(all).length <= MOST_PROVIDERS)
    .default({}),
  {
    expected:
      `a mapping of at most ${MOST_PROVIDERS} names (lower case, digits, dashes) to their settings, ` +
      'such as {pdl: {use: people-data-labs, plan: pro}}',
    hasJsonEntries: true,
  },
  'Providers that the steps ask, by a name of your choice; in place of service. Each has its own API key: that of pdl is in ' +
    'MILLRACE_PDL_API_KEY, or in the file that MILLRACE_PDL_API_KEY_FILE names.',
);

/** A provider's settings as a job writes them, with defaults. */
export type RawProvider = z.output<typeof jobProvider>;
