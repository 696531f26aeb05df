/** A waterfall of three enrich providers and two verify providers, for tests that kill it. */
import { expect } from 'vitest';
import type { Ended, Started } from '../support/cli.ts';
import type { Folder } from '../support/cli.ts';
import { watchService, WaterfallSite, watchStandIn, type Left, type Watched } from '../support/waterfall-crash.ts';
import { makeFolder, startService } from '../support/world.ts';
import { problem, type ScriptedService } from '../support/scripted-service.ts';
import { checkpoint, definition, keys, RUN, start, writeJob, writePeople, type ProviderJob } from '../providers/jobs.ts';
import { startPeopleDataLabs } from '../providers/stand-ins/people-data-labs.ts';
import { startPromises } from '../providers/stand-ins/promises.ts';
import type { StandIn, StandInCall } from '../providers/stand-ins/stand-in.ts';
import { findPerson } from '../providers/stand-ins/world.ts';
import { startZeroBounce } from '../providers/stand-ins/zerobounce.ts';

export interface CrashWorld {
  readonly folder: Folder;
  readonly service: ScriptedService;
  readonly people: StandIn;
  readonly promises: StandIn;
  readonly checks: StandIn;
  readonly watched: readonly Watched[];
  readonly job: ProviderJob;
  /** Starts the command, or one shard such as `0/3`, in a process of its own. */
  start(shard?: string): Started;
  /** Calls that all providers together have seen. */
  calls(): number;
  /** Resolves after that many further calls. */
  sees(more: number): Promise<void>;
}

const NAMES = ['service', 'people', 'promises', 'checks'] as const;
const number = (key: string): number => findPerson({ email: key }) ?? 0;

/** @param concurrency of each provider @param latencyMs of each answer */
export async function makeCrashWorld(
  records: number,
  { concurrency, latencyMs = 0 }: { concurrency: number; latencyMs?: number },
): Promise<CrashWorld> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  service.latencyMs = latencyMs;
  // It knows two of three people, and no title of one of them.
  service.script = ({ keys: [key = ''] }, _response, reply, usual) => {
    const kind = number(key) % 3;
    const { title, ...rest } = JSON.parse(String(usual().body)) as Record<string, unknown>;
    reply(kind === 0 ? problem(404, 'no_match') : { status: 200, body: JSON.stringify(kind === 1 ? rest : { ...rest, title }) });
  };
  const people = await start(startPeopleDataLabs, { latencyMs, knows: (_person: unknown, i: number) => i % 5 < 3 });
  const promises = await start(startPromises, { latencyMs });
  const checks = await start(startZeroBounce, { latencyMs });
  const watched = [
    watchService('service', service),
    watchStandIn('people', people, ({ body }) => ({
      step: 'enrich',
      keys: (body as { requests: readonly { params: { email: string } }[] }).requests.map(({ params }) => params.email),
    })),
    watchStandIn('promises', promises, readPromises, true),
    watchStandIn('checks', checks, ({ query }) => ({ step: 'verify', keys: [query.get('email') ?? ''] })),
  ];
  const job: ProviderJob = {
    providers: {
      service: { use: 'millrace', baseUrl: service.url, plan: 'enterprise', concurrency },
      people: { use: definition('people'), baseUrl: `${people.url}/v5`, concurrency },
      promises: { use: definition('promises'), baseUrl: promises.url, concurrency },
      checks: { use: definition('checks'), baseUrl: `${checks.url}/v2`, concurrency },
    },
    steps: [
      { enrich: { from: ['service', 'people', 'promises'], until: ['name', 'title'], fields: 'merge' } },
      { verify: { from: ['promises', 'checks'] } },
    ],
  };
  await Promise.all([writePeople(folder, records), writeJob(folder, job)]);
  const calls = (): number => watched.reduce((sum, provider) => sum + provider.arrivals().length, 0);
  return {
    folder,
    service,
    people,
    promises,
    checks,
    watched,
    job,
    start: (shard) => folder.start(shard === undefined ? RUN : [...RUN, '--shard', shard], { env: keys(...NAMES) }),
    calls,
    sees: (more) => {
      const target = calls() + more;
      return Promise.race(watched.map((provider) => provider.when(() => calls() >= target)));
    },
  };
}

function readPromises({ path, body }: StandInCall): ReturnType<Parameters<typeof watchStandIn>[2]> {
  if (path === '/lookups') return { step: 'enrich', keys: [(body as { email: string }).email] };
  return path === '/checks' ? { step: 'verify', keys: (body as { emails: string[] }).emails } : null;
}

/** The result that neither a crash nor the concurrency may change. */
export async function resultOf(folder: Folder): Promise<unknown> {
  const { mark } = await checkpoint(folder);
  return { output: await folder.read('out.csv'), tally: mark.tally };
}

/** Ends the job after each of these numbers of further calls, then lets it finish. @returns what each ended run left, and the last run */
export async function endThrough(
  world: CrashWorld,
  afterCalls: readonly number[],
  signal: NodeJS.Signals,
): Promise<{ readonly left: readonly (readonly Left[])[]; readonly ended: readonly Ended[] }> {
  const site = new WaterfallSite(world.folder, world.watched);
  const left: Left[][] = [];
  const ended: Ended[] = [];
  for (const more of [...afterCalls, Infinity]) {
    const started = world.start();
    void world.sees(more).then(() => started.kill(signal));
    ended.push(await started.ended);
    left.push(await site.look());
  }
  return { left, ended };
}

/** Checks what several ended runs and the last one have asked for and counted. */
export function expectNothingPaidTwice({ watched, promises }: CrashWorld, left: readonly (readonly Left[])[]): void {
  const all = left.flat();
  expect(all.filter(({ late }) => late.length > 0)).toEqual([]);
  expect(all.filter(({ paidTwice }) => paidTwice.length > 0)).toEqual([]);
  for (const provider of watched) {
    const own = all.filter(({ provider: name }) => name === provider.name);
    const lookups = new Set(provider.exchanges().flatMap(({ asked }) => asked.keys.map((key) => `${asked.path} ${key}`)));
    // A lookup is charged again only for each kill that may have lost its answer.
    const tooOften = [...lookups].filter(
      (lookup) => provider.paid(lookup) > 1 + own.filter(({ mayRepeat }) => mayRepeat.includes(lookup)).length,
    );
    expect([provider.name, tooOften]).toEqual([provider.name, []]);
    // The checkpoint forgets no call but those since it was written, and the last run counts each of its own.
    const [last, before] = [own.at(-1), own.at(-2)];
    expect([provider.name, last?.uncounted.calls]).toEqual([provider.name, before?.uncounted.calls ?? 0]);
    // The ledger may know credits that no checkpoint had yet: the next run counts those too, and none twice.
    const credits = last?.uncounted.credits ?? 0;
    expect(credits, provider.name).toBeLessThanOrEqual((before?.uncounted.credits ?? 0) + 1e-6);
    expect(credits, provider.name).toBeGreaterThanOrEqual(-1e-6);
    for (const [kill, one] of own.slice(0, -1).entries())
      expect(one.uncounted.calls - (own[kill - 1]?.uncounted.calls ?? 0)).toBeLessThanOrEqual(one.callsSinceCheckpoint);
  }
  expect(promises.counts.refusedOther).toBe(0);
}
