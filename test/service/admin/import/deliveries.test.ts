import { readFile } from 'node:fs/promises';
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { openDirectory } from '../../../../src/service/store/directory.ts';
import { loadPeople } from '../../../../src/service/store/rows/load.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { forgetLog, suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { weigh } from '../../../../src/verification/evidence.ts';
import type { EmailVerification, HeldEvidence } from '../../../../src/verification/types.ts';
import { makeStore, serveStore } from '../../harness.ts';
import { emptyStore, load } from '../../loading.ts';

const AT = '2026-03-01T00:00:00Z';
/** The effects of a delivery soon after AT. */
const evidence = (store: Store, email: string, nowMs = Date.parse(AT) + 86_400_000): Omit<HeldEvidence, 'untilMs'> | null => {
  const { held } = weigh(openDirectory(store).mailbox(email), null, nowMs);
  return held === null ? null : { kind: held.kind, atMs: held.atMs };
};
const deliveries = (store: Store, rows: Parameters<typeof load>[1], asOf: string | null = null) =>
  load(store, rows, { kind: 'deliveries', name: 'mails.csv', asOf });

describe('delivery events', () => {
  it.each([
    [{ event: 'delivered' }, 'delivered'],
    [{ Event: 'Open' }, 'delivered'],
    [{ 'smtp code': '250' }, 'delivered'],
    [{ event: 'bounced' }, 'bounced'],
    [{ status: 'bounced', 'smtp code': 550 }, 'bounced'],
    [
      {
        RecordType: 'Bounce',
        Type: 'HardBounce',
        Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
      },
      'bounced',
    ],
    [{ event: 'bounce', type: 'bounce', status: '5.1.1', reason: '550 5.1.1 nobody of this name' }, 'bounced'],
    [{ event: 'failed', severity: 'permanent', code: 550, response: '5.1.1 no such user' }, 'bounced'],
    [{ 'diagnostic code': 'smtp; 550-5.2.1 disabled' }, 'bounced'],
    [{ event: 'bounced', response: '550 no such user here' }, 'bounced'],
    [{ event: 'bounced', reason: 'could not be delivered' }, 'bounced'],
    // Events about the sender, temporary failures and unknown reasons say nothing about the mailbox.
    [{ event: 'bounced', 'bounce type': 'hard', 'enhanced status': '5.7.1' }, null],
    [{ event: 'bounced', 'bounce type': 'hard', reason: '550 blocked: spam' }, null],
    [{ event: 'bounced', 'smtp code': 452, 'enhanced code': '4.2.2' }, null],
    [{ event: 'bounced', 'smtp code': 552 }, null],
    [{ event: 'bounced', 'enhanced code': '5.4.4' }, null],
    [{ event: 'bounced', 'bounce type': 'soft' }, null],
    [{ event: 'soft_bounce' }, null],
    [{ event: 'bounced', reason: 'blocked for spam' }, null],
    [{ RecordType: 'Bounce', Type: 'SpamNotification' }, null],
    [{ event: 'deferred', reason: '550 5.1.1 no such user' }, null],
    [{ event: 'delivered', 'smtp code': 550 }, null],
    [{ event: 'delivered', 'smtp code': 252 }, null],
    [{ event: 'spamreport' }, null],
  ])('the delivery event %j means %s', async (row, kind) => {
    const store = await emptyStore();
    const { counts, rejected } = await deliveries(store, [{ email: 'Jane@acme.example', at: AT, ...row }]);
    expect(rejected).toEqual([]);
    expect(counts).toMatchObject(kind === null ? { skipped: 1 } : { added: 1 });
    expect(evidence(store, 'jane@acme.example')).toEqual(kind === null ? null : { kind, atMs: Date.parse(AT) });
    store.close();
  });

  it('events without an address, a meaning or a time are rejected, and the others are stored', async () => {
    const store = await emptyStore();
    const { counts, rejected } = await deliveries(store, [
      ['Recipient', 'Event', 'Timestamp'],
      ['', 'delivered', AT],
      ['ask them', 'delivered', AT],
      ['jane@acme.example', '', AT],
      ['jane@acme.example', 'vanished', AT],
      ['jane@acme.example', 'delivered', ''],
      ['jane@acme.example', 'delivered', '03/04/2026'],
      ['jane@acme.example', 'delivered', '1772323200.25'],
    ]);
    expect(rejected.map(({ line, code }) => [line, code])).toEqual([
      [2, 'no_identity'],
      [3, 'bad_email'],
      [4, 'bad_event'],
      [5, 'bad_event'],
      [6, 'bad_time'],
      [7, 'bad_time'],
    ]);
    expect(counts).toMatchObject({ read: 7, added: 1 });
    expect(evidence(store, 'jane@acme.example')).toEqual({ kind: 'delivered', atMs: Date.parse(AT) + 250 });
    // --as-of applies to rows without a time; no event is in the future.
    expect(
      (
        await deliveries(
          store,
          [
            { email: 'a@acme.example', event: 'delivered' },
            { email: 'b@acme.example', event: 'delivered', at: 4_102_444_800_000 },
          ],
          '2026-02-02',
        )
      ).counts.added,
    ).toBe(2);
    expect([evidence(store, 'a@acme.example')?.atMs, evidence(store, 'b@acme.example', Date.parse('2026-06-01'))?.atMs]).toEqual([
      Date.parse('2026-02-02'),
      Date.parse('2026-06-01'),
    ]);
    store.close();
  });

  it('the newest event counts, in any order and however often; at the same time the bounce counts', async () => {
    const event = fc.record({
      email: fc.constant('jane@acme.example'),
      event: fc.constantFrom('delivered', 'bounced'),
      at: fc.integer({ min: 1, max: 5 }).map((day) => `2026-01-0${day}T00:00:00Z`),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 6 }), async (events) => {
        const store = await emptyStore();
        await deliveries(store, [...events, ...events.toReversed()]);
        const at = events
          .map((one) => one.at)
          .toSorted()
          .at(-1) as string;
        const kind = events.some((one) => one.at === at && one.event === 'bounced') ? 'bounced' : 'delivered';
        expect(evidence(store, 'jane@acme.example')).toEqual({ kind, atMs: Date.parse(at) });
        store.close();
      }),
      { numRuns: 20 },
    );
  });

  it('an event and the status of the person record are compared, and the newer one counts', async () => {
    const store = await emptyStore();
    const person = { email: 'jane@acme.example', email_status: 'bounced', email_verified_at: '2026-02-01T00:00:00Z' };
    loadPeople(store, [person, { email: 'max@acme.example', email_status: 'verified' }], 'test');
    await deliveries(store, [
      { email: 'jane@acme.example', event: 'delivered', at: '2026-01-01' },
      { email: 'max@acme.example', event: 'bounced', at: '2025-12-01' },
    ]);
    expect(evidence(store, 'jane@acme.example')).toEqual({ kind: 'found_dead', atMs: Date.parse('2026-02-01') });
    expect(evidence(store, 'max@acme.example')).toMatchObject({ kind: 'bounced' });
    await deliveries(store, [{ email: 'jane@acme.example', event: 'delivered', at: '2026-02-01' }]);
    expect(evidence(store, 'jane@acme.example')).toMatchObject({ kind: 'found_dead' });
    await deliveries(store, [{ email: 'jane@acme.example', event: 'delivered', at: '2026-02-02' }]);
    expect(evidence(store, 'jane@acme.example')).toEqual({ kind: 'delivered', atMs: Date.parse('2026-02-02') });
    store.close();
  });

  it('an event is evidence and gives points in verdicts while it is recent', async () => {
    const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
    const path = await makeStore();
    const store = openStore(path);
    await load(
      store,
      [
        { email: 'new@acme.example', event: 'delivered', at: daysAgo(89) },
        { email: 'old@acme.example', event: 'delivered', at: daysAgo(91) },
        { email: 'dead@acme.example', event: 'hard bounce', at: daysAgo(91) },
      ],
      { kind: 'deliveries', nowMs: Date.now() },
    );
    store.close();
    const service = await serveStore({ store: path });
    const emails = ['new@acme.example', 'old@acme.example', 'dead@acme.example'];
    const { json } = await service.post('/v1/emails/verify', { emails });
    expect(
      (json['data'] as EmailVerification[]).map(({ reason, confidence, score_factors: factors }) => [
        reason,
        confidence,
        factors.map(({ factor }) => factor),
      ]),
    ).toEqual([
      ['recorded_delivery', 100, ['recorded_delivery', 'delivered_in_90_days']],
      ['cannot_verify', 30, ['unknown']],
      ['recorded_bounce', 0, ['recorded_bounce']],
    ]);
    const recent = await service.post('/v1/emails/verify', { emails, max_age_s: 90 * 86_400 });
    expect((recent.json['data'] as EmailVerification[]).map(({ cached }) => cached)).toEqual([true, false, false]);
  });

  it('an erasure removes the events of every address of the person, and they do not return', async () => {
    const path = await makeStore((open) => loadPeople(open, [{ email: 'jane.doe@acme.example', emails: ['jd@home.example'] }], 'crm'));
    const store = openStore(path);
    const rows = ['jane.doe@acme.example', 'jd@home.example', 'stranger@home.example'].map((email) => ({
      email,
      event: 'delivered',
      at: AT,
    }));
    await deliveries(store, rows);
    expect(suppress(store, ['JD@home.example', 'stranger@home.example'], 7)).toEqual({
      suppressed: 2,
      people: 1,
      signals: 0,
      deliveries: 3,
      shared: 0,
      invalid: [],
    });
    expect((await deliveries(store, rows)).counts.rejected).toEqual({ suppressed: 3 });
    expect(store.prepare('SELECT count(*) AS n FROM deliveries').get()).toEqual({ n: 0 });
    expect(forgetLog(store)).toBe(true);
    store.close();
    expect((await readFile(path)).includes('stranger')).toBe(false);
  });
});
