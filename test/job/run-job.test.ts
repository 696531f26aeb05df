/** A running job, and what it leaves to the next one in its checkpoints. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { CallBudget } from '../../src/job/call-budget.ts';
import { Counters } from '../../src/job/counters.ts';
import { freezeJobInput } from '../../src/job/frozen-input.ts';
import type { RowSink } from '../../src/job/job-parts.ts';
import { jobPaths } from '../../src/job/paths.ts';
import { RunningJob } from '../../src/job/run-job.ts';
import { newCheckpoint } from '../../src/job/start.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerEntry } from '../../src/ledger/options.ts';
import { FileLedger } from '../../src/ledger/run-ledger.ts';
import { loadKeys } from '../../src/processor/load-keys.ts';
import { DISTRUST_AFTER, type Trust } from '../../src/processor/trust-gate.ts';
import { Waits } from '../../src/waits.ts';
import { START_MARK } from '../../src/writer/mark.ts';
import { EMPTY_TALLY } from '../../src/writer/tally.ts';
import { cleanUp } from '../support/clean-up.ts';
import { API_KEY, type ScriptedService } from '../support/scripted-service.ts';
import { makeFolder, startService } from '../support/world.ts';
import { compiled } from './definition/support.ts';

/** Says which keys it has, and which of them are durable. */
class WatchedLedger extends FileLedger {
  readonly has = new Set<string>();
  durable: ReadonlySet<string> = new Set();
  onPut: () => void = () => undefined;

  override put(entries: readonly LedgerEntry[]): void {
    super.put(entries);
    for (const { key } of entries) this.has.add(key);
    this.onPut();
  }

  override async keep(): Promise<void> {
    await super.keep();
    this.durable = new Set(this.has);
  }
}

interface Made {
  readonly service: ScriptedService;
  readonly ledger: WatchedLedger;
  /** @param keep what a checkpoint says. @param sync how long the output takes to become durable */
  readonly start: (options: { held?: Trust['held']; keep?: (trust: Trust) => void; sync?: () => Promise<void>; vouched?: () => Promise<boolean>; drain?: AbortSignal }) => RunningJob;
}

async function make(emails: readonly string[]): Promise<Made> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  await writeFile(folder.at('in.csv'), `email\n${emails.map((email) => `${email}\n`).join('')}`);
  const job = compiled({ flags: { input: folder.at('in.csv'), output: folder.at('out.csv'), 'base-url': service.url, plan: 'enterprise', steps: 'enrich', concurrency: String(emails.length), 'checkpoint.everyMs': '50' } });
  const paths = jobPaths(job, { scratch: null });
  const manifest = await freezeJobInput(job, paths, new AbortController().signal);
  const checkpoint = newCheckpoint(job, paths, manifest, 1, new Date());
  const file = Ledger.open({ path: paths.ledger, job: job.name, run: checkpoint.run, maxAgeDays: 0, now: Date.now });
  cleanUp(() => file.close());
  const ledger = new WatchedLedger(file);
  const keysOf = await loadKeys(job.steps);
  return {
    service,
    ledger,
    start: ({ held, keep, sync, vouched, drain = new AbortController().signal }) => {
      const sink: RowSink = {
        tally: EMPTY_TALLY,
        write: () => undefined,
        room: () => null,
        sync: async () => {
          await sync?.();
          return START_MARK;
        },
        settled: async () => undefined,
        finish: () => Promise.reject(new Error('nobody finishes it')),
        commit: async () => undefined,
        close: async () => undefined,
      };
      const counters = new Counters(null, () => performance.now());
      const tell = (): void => undefined;
      return new RunningJob({
        job,
        checkpoint: { ...checkpoint, held },
        wasKilled: false,
        ledger,
        sink,
        counters,
        budget: new CallBudget({ maxCalls: null, counters, uncounted: 0, record: null }),
        retry: null,
        keysOf,
        vouched,
        quota: null,
        waits: new Waits(),
        reporter: { detail: tell, info: tell, warn: tell },
        service: { baseUrl: service.url, origin: service.url, apiKey: new RotatingKey(API_KEY) },
        keep: async (_mark, _state, trust) => keep?.(trust),
        drain,
        abort: new AbortController().signal,
      });
    },
  };
}

const MISSES = ['miss1@works.example', 'miss2@works.example', 'miss3@works.example'];

test('what was held back is in each checkpoint until the ledger has it for good, however long the output takes to be written', async () => {
  const { service, ledger, start } = await make([...MISSES, 'ana@works.example']);
  const answer = Promise.withResolvers<void>();
  service.script = ({ keys }, _response, reply, usual) => {
    if (MISSES.includes(keys[0] as string)) reply(usual());
    else void answer.promise.then(() => reply(usual()));
  };
  const told = Promise.withResolvers<void>();
  ledger.onPut = () => {
    if (ledger.has.size === MISSES.length + 1) told.resolve();
  };
  let allHeld = false;
  const missing: string[][] = [];
  const end = await start({
    keep: ({ held = [] }) => {
      const kept = new Set([...held.map(({ key }) => key), ...ledger.durable]);
      allHeld ||= held.length === MISSES.length;
      if (allHeld) missing.push(MISSES.filter((key) => !kept.has(key)));
    },
    // The service shows what it is while a checkpoint is being made: after the ledger was written, before the output was.
    sync: async () => {
      if (!allHeld) return;
      answer.resolve();
      await told.promise;
    },
  }).run();
  expect(end).toMatchObject({ kind: 'whole', trust: { trusted: true, held: [] } });
  expect(missing.length).toBeGreaterThanOrEqual(2);
  expect(missing.flat()).toEqual([]);
});

test('a job that is through leaves nothing held back: a retry is to ask for it', async () => {
  const { service, start } = await make(MISSES);
  const held = [{ step: 'enrich', key: 'other@works.example', said: '422 validation_failed', refused: true, answer: { kind: 'failed', code: 'validation_failed', attempts: 1, requestId: null } }] as const;
  const kept: Trust[] = [];
  expect(await start({ held, keep: (trust) => kept.push(trust) }).run()).toMatchObject({ kind: 'whole', trust: { held: [] } });
  expect(kept[0]?.held).toEqual(held);
  expect(service.requests).toHaveLength(MISSES.length);
});

test.each([true, false])('while it asks whether others know the service, what was told stays in the checkpoint; then nothing does of one that nobody knows (known: %s)', async (known) => {
  const misses = Array.from({ length: DISTRUST_AFTER }, (_, i) => `miss${i}@works.example`);
  const { ledger, start } = await make(misses);
  const asked = Promise.withResolvers<void>();
  const asking: Trust[] = [];
  let looks = false;
  const end = await start({
    keep: (trust) => {
      if (!looks) return;
      asking.push(trust);
      if (asking.length === 2) asked.resolve();
    },
    vouched: async () => {
      looks = true;
      await asked.promise;
      looks = false;
      return known;
    },
  }).run();
  for (const { held } of asking) expect(held?.map(({ key }) => key).sort()).toEqual(misses.toSorted());
  expect([end.kind, ledger.has.size]).toEqual(known ? ['whole', DISTRUST_AFTER] : ['stopped', 0]);
});

test('told while it is being stopped, the last of a hundred misses is judged by the next run: nothing of them is asked for again', async () => {
  const misses = Array.from({ length: DISTRUST_AFTER }, (_, i) => `miss${i}@works.example`);
  const { service, start } = await make(misses);
  const stop = new AbortController();
  service.script = (_asked, _response, reply, usual) => {
    if (service.requests.length < DISTRUST_AFTER / 2) reply(usual());
    else stop.signal.addEventListener('abort', () => reply(usual()));
  };
  const kept: Trust[] = [];
  const running = start({ keep: (trust) => kept.push(trust), drain: stop.signal }).run();
  await service.when(() => service.requests.length === DISTRUST_AFTER);
  stop.abort(new Error('stopped by the test'));
  expect(await running).toEqual({ kind: 'stopped', error: stop.signal.reason as unknown });
  expect(kept.at(-1)?.held?.map(({ key }) => key).sort()).toEqual(misses.toSorted());

  const next = await start({ held: kept.at(-1)?.held }).run();
  expect(next).toMatchObject({ kind: 'stopped', error: { code: 'one_kind_of_answer' } });
  expect(service.requests).toHaveLength(DISTRUST_AFTER);
});
