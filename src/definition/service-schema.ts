/** The section `service` of a job file. */
import { z } from 'zod';
import type { QuotaWindow } from '../providers/compiled-provider.ts';
import { PERIODS_MS } from '../util/periods.ts';
import { PRICE_TEXT } from './credit-price.ts';
import { BOUNDS, key, uri } from './schema-key.ts';

/** The periods of a stated quota window. */
export const PERIODS = ['second', 'minute', 'hour', 'day', 'month'] as const;
const windowObject = z.strictObject({ limit: z.int().min(1).max(BOUNDS.windowLimit), per: z.enum(PERIODS) });
const WINDOW_TEXT = /^[1-9]\d{0,8}\/(?:second|minute|hour|day|month)$/;

/** Windows as a job states them, such as `50000/day`. */
export function statedWindows(windows: readonly (string | z.output<typeof windowObject>)[]): readonly QuotaWindow[] {
  return windows.map(statedWindow).map(({ limit, per }) => ({ limit, periodMs: PERIODS_MS[per] }));
}

/** A window as an object, also when it is written `50000/day`. */
function statedWindow(window: string | z.output<typeof windowObject>): z.output<typeof windowObject> {
  if (typeof window !== 'string') return window;
  const [limit, per] = window.split('/');
  return { limit: Number(limit), per: per as (typeof PERIODS)[number] };
}

/** Windows of different periods. */
export const windowList = z
  .array(z.union([windowObject, z.string().regex(WINDOW_TEXT)]))
  .max(PERIODS.length)
  .refine((windows) => new Set(windows.map((one) => statedWindow(one).per)).size === windows.length);

/** The name of a field in a request. */
export const fieldName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/);

export const service = z.strictObject({
  baseUrl: key(
    z.string().min(1).max(BOUNDS.uri).nullable().default(null),
    'an http or https URL',
    'Address of the data service, with a path prefix if it has one. Exactly one of baseUrl, region and embedded.',
  ),
  region: key(
    z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,30}$/)
      .nullable()
      .default(null),
    'a name that service.regions knows, such as us',
    'Which of regions to ask.',
  ),
  regions: key(
    z.record(z.string().regex(/^[a-z][a-z0-9-]{0,30}$/), z.string().min(1).max(BOUNDS.uri)).default({}),
    'a mapping of region names (lower case) to http or https URLs',
    'Address of the data service in each region.',
  ),
  embedded: key(
    z.boolean().default(false),
    'true or false',
    'Start a data service with the sample set inside the run, for trying things out: no account needed.',
  ),
  plan: key(
    z.enum(['growth', 'scale', 'enterprise']).nullable().default(null),
    'growth, scale or enterprise',
    "The plan's requests a minute: growth 1,000, scale 5,000, enterprise unlimited. " +
      'Either plan or rpm. null: enterprise when embedded, else growth, with a warning.',
  ),
  rpm: key(
    z.int().min(1).max(BOUNDS.rpm).nullable().default(null),
    `a whole number from 1 to ${BOUNDS.rpm}, or null`,
    'Requests a minute, exactly, instead of a plan.',
  ),
  concurrency: key(
    z.union([z.literal('auto'), z.int().min(1).max(BOUNDS.concurrency)]).default('auto'),
    `auto, or a whole number from 1 to ${BOUNDS.concurrency}`,
    'Requests in flight at once. auto: as many as the quota and the latency call for.',
  ),
  timeoutMs: key(
    z.int().min(BOUNDS.timeoutMs[0]).max(BOUNDS.timeoutMs[1]).default(30_000),
    `milliseconds, a whole number from ${BOUNDS.timeoutMs[0]} to ${BOUNDS.timeoutMs[1]}`,
    'Longest wait for one answer, in milliseconds; a verify request that takes longer is halved.',
  ),
  windows: key(
    windowList.default([]),
    {
      expected:
        'a list of windows such as {limit: 50000, per: day}, each of another ' +
        'period (second, minute, hour, day, month); as text: 10/second,50000/day',
      split: ',',
    },
    "Quota windows of the service beside the plan's minute, each kept at the same time. Where its headers state a window, the headers " +
      "count too, and tell what others spend; without them only this job's own requests are counted.",
  ),
  creditPrice: key(
    z.string().regex(PRICE_TEXT).nullable().default(null),
    'an amount and a currency such as 0.012 EUR, or null',
    'What a credit costs: plan and report then state the cost in money too.',
  ),
  quota: key(
    uri.nullable().default(null),
    'redis://host:port/database (rediss:// for TLS), or null',
    'One quota for all runs that name the same Redis server, and have the same service and key. null: each run has the whole plan.',
  ),
  fields: z
    .strictObject({
      domain: key(fieldName.default('domain'), 'a field name: letters, digits and _', 'The name under which /v1/enrich takes a domain.'),
    })
    .prefault({})
    .describe('Names that the interface specification leaves open.'),
});
