/** Batches of a step whose order does not fix the requests, at a provider that needs too long for a full one. */
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { RequestSize, type KeptSize } from '../../src/lookup/request-size.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { ITEMS, items, makeBench, type Asked } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };
const BATCH = 64;
const LIMIT_MS = 30_000;
const TIMEOUT = { code: 'timeout', detail: 'no answer within the time allowed', status: 0, latencyMs: LIMIT_MS };

const emailsOf = ({ body }: Asked): string[] => [...body.matchAll(/"email":"([^"]+)"/g)].map(([, email]) => email as string);

/** Asks for many people. The provider answers requests of up to `most` lookups. */
function askAll(people: number, most: number, from: KeptSize | null = null) {
  const bench = makeBench({ batch: BATCH });
  const sizes = new RequestSize({ largest: BATCH, limitMs: LIMIT_MS, from, isProven: true });
  const said: string[] = [];
  let kept = from;
  const pace = {
    sizes,
    limitMs: LIMIT_MS,
    tooLarge: (why: string, isSmaller: boolean) => void (isSmaller && said.push(`${sizes.size}: ${why}`)),
    note: () => void (kept = sizes.kept),
    keep: () => {
      throw new Error('no checkpoint is awaited where order does not fix the requests');
    },
  };
  const step = recordStep({ ...bench.context, paceOf: () => pace }, 'enrich', SCOPES);
  const got = new Map<string, string>();
  for (let i = 0; i < people; i++)
    step.ask({ by: 'email', key: `p${i}@example.com` }, (outcome) => got.set(`p${i}@example.com`, outcome.kind));
  const sent: number[] = [];
  const asked = new Map<string, number>();
  step.flush();
  for (let turn = 0; got.size < people && turn < 10_000; turn++) {
    const [call] = bench.asked.splice(turn % Math.max(1, bench.asked.length), 1);
    if (call === undefined) step.flush();
    else {
      const emails = emailsOf(call);
      sent.push(emails.length);
      for (const email of emails) asked.set(email, (asked.get(email) ?? 0) + 1);
      if (emails.length === 1) call.settle({ kind: 'ok', value: { record: {}, text: '{}' }, attempts: 1, requestId: null });
      else if (emails.length <= most) call.settle(items(emails.map((email) => ITEMS.person({ email }))));
      else expect(call.fails(TIMEOUT)).toBe(true);
    }
  }
  return { got, sent, said, kept, mostAsked: Math.max(...asked.values()) };
}

describe('a batch of lookups that runs into the time limit', () => {
  it('a batch that times out is halved at once, and everybody is delivered, asked for once more at most for each halving', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 400 }), fc.integer({ min: 1, max: BATCH }), (people, most) => {
        const { got, sent, mostAsked } = askAll(people, most);
        expect([...got.values()].every((kind) => kind === 'hit')).toBe(true);
        expect(mostAsked).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(BATCH / most)));
        const firstFit = sent.findIndex((size) => size <= most);
        expect(firstFit).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('a smaller batch says why, and its size is kept for the rest of the run and the next one', () => {
    const first = askAll(1_000, 16);
    expect(first.said.slice(0, 2)).toEqual(['32: ran into the time limit of 30 s', '16: ran into the time limit of 30 s']);
    expect(first.kept?.size).toBe(16);
    const resumed = askAll(200, 16, first.kept);
    expect(Math.max(...resumed.sent)).toBe(16);
    expect(resumed.said).toEqual([]);
  });

  it('batches go full and all at once while the provider keeps up', () => {
    const { sent, said, kept } = askAll(1_000, BATCH);
    expect([Math.ceil(1_000 / BATCH), said, kept]).toEqual([sent.length, [], null]);
  });
});
