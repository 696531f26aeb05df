/** Three providers with three kinds of limiter at once, in real time, with windows of a second. bench/waterfall-quota.ts has minutes. */
import { expect, test } from 'vitest';
import { limitersOf, type WindowedVendor } from '../../bench/support/windowed-log.ts';
import { makeFolder } from '../support/world.ts';
import { definition, keys, RUN, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import type { StandIn } from './stand-ins/stand-in.ts';

const RECORDS = 90;
const KINDS: readonly { readonly kind: WindowedVendor['kind']; readonly limit: number; readonly hasHeaders: boolean }[] = [
  { kind: 'fixed', limit: 30, hasHeaders: true },
  { kind: 'sliding', limit: 28, hasHeaders: false },
  { kind: 'bucket', limit: 26, hasHeaders: true },
];

/** Puts a limiter of that kind before a vendor. */
function limit(vendor: StandIn, { kind, limit: most, hasHeaders }: (typeof KINDS)[number]): void {
  const [limiter] = limitersOf({ kind, windows: [{ name: 'second', limit: most, periodMs: 1_000 }], seed: 1 });
  if (limiter === undefined) throw new Error('no limiter');
  let fromMs: number | null = null;
  vendor.hook = (_call, usual) => {
    fromMs ??= performance.now();
    const atMs = performance.now() - fromMs;
    const reply = limiter.take(atMs) ? usual() : { status: 429, headers: { 'retry-after': '1' }, body: {} };
    const told = hasHeaders
      ? { 'x-ratelimit-limit-second': String(most), 'x-ratelimit-remaining-second': String(limiter.remaining(atMs)) }
      : {};
    return { ...reply, headers: told };
  };
}

test('each quota is kept at once, and each record is looked up once', async () => {
  const folder = await makeFolder();
  const vendors = new Map<string, StandIn>();
  for (const [index, one] of KINDS.entries()) {
    // All but the last know one person, so that each record asks all.
    const vendor = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i === 0 || index === KINDS.length - 1 });
    limit(vendor, one);
    vendors.set(one.kind, vendor);
  }
  const job: ProviderJob = {
    providers: Object.fromEntries(
      KINDS.map(({ kind, limit: most }) => [
        kind,
        { use: definition('person'), baseUrl: `${vendors.get(kind)?.url}/v5`, windows: [`${most}/second`], concurrency: 8 },
      ]),
    ),
    steps: [{ enrich: { from: KINDS.map(({ kind }) => kind) } }],
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  expect(await folder.start(RUN, { env: keys(...vendors.keys()) }).ended).toMatchObject({ code: 0 });
  for (const [kind, { counts }] of vendors) {
    expect([kind, counts.lookups]).toEqual([kind, kind === 'fixed' ? RECORDS : RECORDS - 1]);
    // A busy machine may bunch calls, so a few refusals are no fault. With a quota set too high there are more.
    expect(counts.refused429, kind).toBeLessThan(RECORDS / 10);
  }
});
