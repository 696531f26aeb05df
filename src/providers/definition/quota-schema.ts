/** The quota of a provider definition. */
import { z } from 'zod';
import { BOUNDS, expecting, HEADER, headerName, key } from './schema-key.ts';

export const PERIODS = ['second', 'minute', 'hour', 'day', 'month'] as const;
export const WINDOW_TEXT = /^[1-9]\d{0,8}\/(?:second|minute|hour|day|month)$/;
export const PLAN_NAME = /^[a-z0-9][a-z0-9._-]{0,39}$/;
export const RESET_UNITS = ['seconds', 'milliseconds', 'epoch-seconds', 'epoch-milliseconds', 'date'] as const;

const WINDOW = 'a window such as 100/minute, for each of second, minute, hour, day or month';
const window = expecting(z.string().regex(WINDOW_TEXT), WINDOW);
const headerKey = (description: string): z.ZodOptional<typeof headerName> => key(headerName.optional(), HEADER, description);

const headers = expecting(
  z.strictObject({
    window: key(z.enum(PERIODS).optional(), PERIODS.join(', '), 'The period of the window that these headers state.'),
    json: key(
      z.literal(true).optional(),
      'true',
      'The headers hold JSON by period, such as {"minute": 10, "day": 900}. Instead of window.',
    ),
    limit: headerKey('The header with the requests of a whole window.'),
    remaining: headerKey('The header with the requests that are left.'),
    used: headerKey('The header with the requests that are spent.'),
    reset: headerKey('The header with the time at which the window begins anew.'),
    resetUnit: key(
      z.enum(RESET_UNITS).default('seconds'),
      RESET_UNITS.join(', '),
      'How reset is written: from now, as an epoch, or as a date.',
    ),
  }),
  'a mapping such as {window: day, limit: x-limit-day, remaining: x-left-day}',
);

const quotaObject = z
  .strictObject({
    plans: key(
      z
        .record(
          expecting(z.string().regex(PLAN_NAME), 'lower-case letters, digits, . _ and -'),
          expecting(z.array(window).max(PERIODS.length), `a list of windows, each ${WINDOW}`),
        )
        .optional(),
      'a mapping of plan names (lower case) to lists of windows such as [100/minute, 1000/month]',
      'Windows by plan, all kept at the same time. An empty list: the plan has no limit.',
    ),
    headers: key(
      z.array(headers).max(BOUNDS.documentation).optional(),
      'a list of mappings such as {window: day, remaining: x-left-day}',
      'How answers state the quota. Left out: the usual families of headers are recognised by their names.',
    ),
  })
  .meta({ id: 'quota' });

/** A quota, described for its place. */
export const quota = (description: string): z.ZodOptional<typeof quotaObject> =>
  key(quotaObject.optional(), 'a mapping with plans and headers', description);
