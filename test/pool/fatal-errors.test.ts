import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallPoolOptions } from '../../src/pool/call-pool.ts';
import { wrongAddressError } from '../../src/pool/fatal-errors.ts';
import { stopTime } from '../limiter/virtual.ts';
import { meta, OK, advance, testBed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('wrongAddressError', () => {
  it.each([
    [404, 'POST http://localhost/v1/enrich answered 404', 'POST http://localhost/v1/enrich answered 404'],
    [404, 'POST http://localhost/v1/enrich answered 404: No such path.', 'POST http://localhost/v1/enrich answered 404: No such path.'],
    [405, 'HTTP 405 (an HTML page)', '405 (an HTML page)'],
    [403, 'Forbidden (an HTML page)', '403 Forbidden (an HTML page)'],
  ])('names the status once (%d, %j)', (status, detail, named) => {
    expect(wrongAddressError(status, detail)).toMatchObject({
      exitCode: 78,
      code: 'not_the_service',
      message: `this does not look like the data service: ${named}`,
      hint: expect.stringContaining('before /v1'),
    });
  });

  it('advises to leave out /v1 when the base URL ends in it', () => {
    expect(wrongAddressError(404, 'POST http://localhost/v1/v1/enrich answered 404').hint).toBe(
      'Leave out /v1 at the end of --base-url: Millrace adds it.',
    );
  });
});

describe('an answer that ends the run', () => {
  it.each([
    ['401', { kind: 'denied', code: 'unauthorized', detail: '', meta: meta(401) }, 77, 'key_refused', 5],
    ['402', { kind: 'denied', code: 'insufficient_credits', detail: 'none left', meta: meta(402) }, 77, 'out_of_credits', 4],
    ['a wrong address', { kind: 'wrong_address', detail: 'a page', meta: meta(404) }, 78, 'not_the_service', 4],
  ] as const)('(%s) is reported once, and no other call leaves', async (_, answer, exitCode, code, sent) => {
    const bed = testBed((id) => (id === 0 ? answer : [answer, 50]));
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(MINUTE);
    expect(bed.fatal).toEqual([expect.objectContaining({ exitCode, code })]);
    expect(bed.sent).toHaveLength(sent);
    expect(bed.settled.size).toBe(0);
  });
});

describe('a refused API key', () => {
  it.each([401, 403, 421])('costs the lookup no attempt when a new key is read after status %d', async (status) => {
    const renewed: number[] = [];
    const bed = testBed(
      (id, attempt) =>
        id < 12 && attempt === 1
          ? [{ kind: 'denied', code: 'unauthorized', detail: '', keyVersion: 1, meta: meta(status) }, id === 3 ? 5_000 : 10]
          : OK,
      {
        renewKey: async (version) => {
          renewed.push(version);
          return { isNew: true, found: '' };
        },
      },
    );
    for (let id = 0; id < 50; id++) bed.submit(id);
    await advance(MINUTE);
    expect([bed.fatal, bed.settled.size, renewed.length]).toEqual([[], 50, 12]);
    expect([...bed.settled.values()].every((settled) => settled.kind === 'ok' && settled.attempts === 1)).toBe(true);
    expect(bed.sent).toHaveLength(62);
    expect(bed.events.filter((event) => event.startsWith('retrying'))).toEqual([]);
  });

  it('ends the run with 77 and a message when it is unchanged after it was read again; used-up credits read no key', async () => {
    const renewals: number[] = [];
    const renewKey: CallPoolOptions['renewKey'] = async (version) => {
      renewals.push(version);
      return { isNew: false, found: 'it holds no other key' };
    };
    const refused = testBed(() => ({ kind: 'denied', code: 'unauthorized', detail: '', keyVersion: 7, meta: meta(401) }), {
      renewKey,
      concurrency: 1,
    });
    refused.submit(0);
    await advance(100);
    expect(refused.fatal).toEqual([
      expect.objectContaining({ exitCode: 77, code: 'key_refused', message: expect.stringContaining('read again: it holds no other key') }),
    ]);
    const empty = testBed(() => ({ kind: 'denied', code: 'insufficient_credits', detail: '', keyVersion: 7, meta: meta(402) }), {
      renewKey,
    });
    empty.submit(0);
    await advance(100);
    expect([empty.fatal, renewals]).toEqual([[expect.objectContaining({ code: 'out_of_credits' })], [7, 7]]);
  });

  it.each([401, 403, 421])('ends no run by one odd refusal with status %d, and by two of one lookup after a second', async (status) => {
    const denied = { kind: 'denied', code: 'forbidden', detail: '', meta: meta(status) } as const;
    const odd = testBed((id, attempt) => (id === 20 && attempt === 1 ? denied : OK));
    for (let id = 0; id < 50; id++) odd.submit(id);
    await advance(MINUTE);
    expect([odd.fatal, odd.settled.size, odd.settled.get(20)]).toMatchObject([[], 50, { kind: 'ok', attempts: 1 }]);
    const revoked = testBed((id) => (id < 20 ? OK : denied));
    for (let id = 0; id < 50; id++) revoked.submit(id);
    await advance(900);
    expect(revoked.fatal).toEqual([]);
    await advance(200);
    expect(revoked.fatal).toEqual([expect.objectContaining({ exitCode: 77, code: 'key_refused' })]);
    // Calls that were refused keep their slots, so that no other call is refused as well.
    expect(revoked.sent.length).toBeLessThanOrEqual(20 + 2 * 4);
  });

  it('does not keep a drained pool waiting', async () => {
    const bed = testBed((id) => (id === 0 ? OK : { kind: 'denied', code: 'forbidden', detail: '', meta: meta(403) }));
    bed.submit(0);
    await advance(50);
    bed.submit(1);
    await advance(50);
    await bed.pool.drain();
    expect([bed.fatal, bed.settled.size]).toEqual([[], 1]);
  });
});
