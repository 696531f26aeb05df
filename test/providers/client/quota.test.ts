/** The quota that a definition's headers state. */
import { describe, expect, it } from 'vitest';
import type { QuotaHeaders } from '../../../src/providers/compiled-provider.ts';
import { quotaReader } from '../../../src/providers/client/declared-quota.ts';
import { serveCanned } from '../../client/servers.ts';
import { declaredClient } from './declared.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

const NONE: QuotaHeaders = { periodMs: null, limit: null, remaining: null, used: null, reset: null, resetUnit: 'seconds' };

function read(headers: readonly Partial<QuotaHeaders>[], answered: Readonly<Record<string, string>>): unknown {
  return quotaReader([null, { plans: {}, headers: headers.map((one) => ({ ...NONE, ...one })) }])(answered, NOW);
}

describe('headers that state one window', () => {
  const day = { periodMs: DAY, limit: 'x-limit', remaining: 'x-left', reset: 'x-reset' };

  it.each([
    ['seconds', '90', 90 * SECOND],
    ['milliseconds', '90000', 90 * SECOND],
    ['epoch-seconds', String(NOW / 1_000 + 90), 90 * SECOND],
    ['epoch-milliseconds', String(NOW + 90_000), 90 * SECOND],
    ['date', '2026-11-26T12:01:30Z', 90 * SECOND],
    ['date', 'Thu, 26 Nov 2026 12:01:30 GMT', 90 * SECOND],
    ['epoch-seconds', String(NOW / 1_000 - 90), 0],
  ] as const)('are read with a reset in %s: %s', (resetUnit, reset, resetMs) => {
    expect(read([{ ...day, resetUnit }], { 'x-limit': '100', 'x-left': '40', 'x-reset': reset })).toEqual({
      plan: null,
      windows: [{ periodMs: DAY, limit: 100, remaining: 40, resetMs }],
      unreadableReset: null,
    });
  });

  it('count a moment from the time of the answer, so that a wrong clock does no harm', () => {
    const headers = { 'x-left': '1', 'x-reset': String(NOW / 1_000 + 90), date: 'Thu, 26 Nov 2026 12:01:00 GMT' };
    expect(read([{ ...day, resetUnit: 'epoch-seconds' }], headers)).toMatchObject({ windows: [{ resetMs: 30 * SECOND }] });
  });

  it('may state what was used', () => {
    const used = [{ periodMs: HOUR, limit: 'x-limit', used: 'x-used' }];
    expect(read(used, { 'x-limit': '400', 'x-used': '30' })).toMatchObject({ windows: [{ limit: 400, remaining: 370, resetMs: null }] });
    expect(read(used, { 'x-limit': '400', 'x-used': '500' })).toMatchObject({ windows: [{ remaining: 0 }] });
  });

  it('headers of a minute with a reset are the window of the plan', () => {
    expect(read([{ ...day, periodMs: MINUTE }], { 'x-limit': '100', 'x-left': '40', 'x-reset': '12' })).toEqual({
      plan: { limit: 100, remaining: 40, reset: { form: 'delta', value: 12, unit: 'seconds' } },
      windows: [],
      unreadableReset: null,
    });
    expect(read([{ ...day, periodMs: MINUTE }], { 'x-limit': '100', 'x-left': '40' })).toMatchObject({
      plan: null,
      windows: [{ periodMs: MINUTE }],
    });
  });

  it.each([
    ['no header', {}],
    ['text', { 'x-limit': 'many', 'x-left': 'few' }],
    ['more left than there is', { 'x-limit': '10', 'x-left': '11' }],
    ['a number below zero', { 'x-limit': '10', 'x-left': '-1' }],
  ])('with %s state nothing', (_what, headers) => {
    expect(read([day], headers)).toBeNull();
  });

  it('tell a reset that cannot be read, and leave it out', () => {
    expect(read([{ ...day, resetUnit: 'date' }], { 'x-left': '1', 'x-reset': 'soon' })).toMatchObject({
      windows: [{ resetMs: null }],
      unreadableReset: 'soon',
    });
  });

  it('leave out a reset that is further away than its window is long', () => {
    expect(read([{ ...day, periodMs: HOUR }], { 'x-left': '1', 'x-reset': '90000' })).toMatchObject({ windows: [{ resetMs: null }] });
  });
});

describe('headers that state several windows as JSON', () => {
  const json = { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset', resetUnit: 'date' } as const;

  it('headers as People Data Labs writes them have one reset, of the shortest window', () => {
    const headers = {
      'x-ratelimit-limit': "{'minute': 100, 'day': 1000, 'month': 9000}",
      'x-ratelimit-remaining': '{"minute": 99, "day": 900, "month": 8000}',
      'x-ratelimit-reset': '2026-11-26T12:00:40Z',
    };
    expect(read([json], headers)).toEqual({
      plan: { limit: 100, remaining: 99, reset: { form: 'date', inMs: 40 * SECOND, slackMs: 1_000, localMs: 40 * SECOND } },
      windows: [
        { periodMs: DAY, limit: 1_000, remaining: 900, resetMs: null },
        { periodMs: 30 * DAY, limit: 9_000, remaining: 8_000, resetMs: null },
      ],
      unreadableReset: null,
    });
  });

  it('may state the resets as JSON, too', () => {
    const headers = { 'x-ratelimit-remaining': '{"hour": 5, "day": 9}', 'x-ratelimit-reset': '{"hour": 60, "day": 120}' };
    expect(read([{ ...json, resetUnit: 'seconds' }], headers)).toMatchObject({
      windows: [
        { periodMs: HOUR, remaining: 5, resetMs: 60 * SECOND },
        { periodMs: DAY, remaining: 9, resetMs: 120 * SECOND },
      ],
    });
  });

  it.each([['{'], ['{"minute": {}}'], ['[1]'], ['{"century": 5}'], [`{"minute": 1${' '.repeat(10_000)}}`]])(
    '%.20s states nothing',
    (remaining) => {
      expect(read([json], { 'x-ratelimit-remaining': remaining })).toBeNull();
    },
  );
});

describe('the quota of an answer', () => {
  const apollo = {
    'x-rate-limit-minute': '50',
    'x-minute-requests-left': '49',
    'x-rate-limit-hourly': '200',
    'x-hourly-requests-left': '180',
    'x-rate-limit-24-hour': '600',
    'x-24-hour-requests-left': '550',
  };
  const usage = [MINUTE, HOUR, DAY].map((periodMs, index) => {
    const [limit = '', used = ''] = [
      ['x-limit-minute', 'x-minute-usage'],
      ['x-limit-hourly', 'x-hourly-usage'],
      ['x-limit-daily', 'x-24-hour-usage'],
    ][index] as string[];
    return { ...NONE, periodMs, limit, used };
  });

  async function quotaOf(headers: Record<string, string>, declared: readonly QuotaHeaders[] | null): Promise<unknown> {
    const url = await serveCanned({ status: 200, body: '{"name":"Ana"}', headers });
    const client = declaredClient(url, { operations: { enrich: {} }, quota: { plans: {}, headers: declared } });
    return (await client.callEnrich('{"email":"a@x.example"}')).meta.quota;
  }

  it('the quota is read from the usual families where the definition declares none', async () => {
    expect(await quotaOf(apollo, null)).toMatchObject({
      plan: null,
      windows: expect.arrayContaining([
        { periodMs: HOUR, limit: 200, remaining: 180, resetMs: null },
        { periodMs: DAY, limit: 600, remaining: 550, resetMs: null },
      ]) as unknown,
    });
    expect(await quotaOf({ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '30' }, null)).toMatchObject({
      plan: { limit: 10, remaining: 9 },
    });
  });

  it('the quota is read from the usage that the definition names', async () => {
    const headers = { 'x-limit-minute': '50', 'x-minute-usage': '1', 'x-limit-daily': '600', 'x-24-hour-usage': '50' };
    expect(await quotaOf(headers, usage)).toEqual({
      plan: null,
      windows: [
        { periodMs: MINUTE, limit: 50, remaining: 49, resetMs: null },
        { periodMs: DAY, limit: 600, remaining: 550, resetMs: null },
      ],
      unreadableReset: null,
    });
  });

  it('the quota is that of the operation, and of its batch, where they have their own', async () => {
    const quota = (remaining: string): { plans: object; headers: QuotaHeaders[] } => ({
      plans: {},
      headers: [{ ...NONE, periodMs: DAY, remaining }],
    });
    const headers = { 'x-all': '1', 'x-enrich': '2', 'x-bulk': '3' };
    const url = await serveCanned({ status: 200, body: '[{"name":"Ana"}]', headers });
    const enrich = { quota: quota('x-enrich') as never, batch: { quota: quota('x-bulk') as never } };
    const company = { quota: quota('x-enrich') as never };
    const client = declaredClient(url, {
      operations: { enrich, company, reveal: { quota: { plans: {}, headers: null }, batch: {} } },
      quota: quota('x-all') as never,
    });
    const left = (remaining: number): object => ({ meta: { quota: { windows: [{ remaining }] } } });
    const body = '{"email":"a@x.example"}';
    expect(await client.callCompany('x.example')).toMatchObject(left(2));
    expect(await client.batches?.call('enrich', [body])).toMatchObject(left(3));
    // A quota of its own without headers is stated by those of the provider.
    expect(await client.callReveal(body)).toMatchObject(left(1));
    expect(await client.batches?.call('reveal', [body])).toMatchObject(left(1));
    // All calls of enrich count against the windows of its batches: those of the other endpoint would mislead.
    expect(await client.callEnrich(body)).toMatchObject({ meta: { quota: null } });
  });
});
