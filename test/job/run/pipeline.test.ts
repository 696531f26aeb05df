/** A run, and the checkpoints that it leaves to the next one. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import { freezeJobInput } from '../../../src/job/lifecycle/frozen-input.ts';
import type { RowWriter } from '../../../src/job/run/destination.ts';
import { jobPaths } from '../../../src/job/lifecycle/paths.ts';
import { runPipeline } from '../../../src/job/run/pipeline.ts';
import { newCheckpoint } from '../../../src/job/lifecycle/new-checkpoint.ts';
import { Ledger } from '../../../src/ledger/ledger.ts';
import type { LedgerEntry } from '../../../src/ledger/options.ts';
import { FileLedger } from '../../../src/ledger/run-ledger.ts';
import { DISTRUST_AFTER, type QuarantineState } from '../../../src/lookup/miss-quarantine.ts';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { Waits } from '../../../src/util/waits.ts';
import { START_MARK } from '../../../src/writer/resume-point.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { API_KEY, type ScriptedService } from '../../support/scripted-service.ts';
import { makeFolder, startService } from '../../support/world.ts';
import { compiled } from '../../definition/support.ts';

/** A ledger in memory that knows which of its keys are durable. */
class WatchedLedger extends FileLedger {
  readonly has = new Set<string>();
  closings = 0;
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

  /** Does nothing: the ledger stays open for the next run of the test. */
  override async close(): Promise<void> {
    this.closings++;
  }
}

interface Made {
  readonly service: ScriptedService;
  readonly ledger: WatchedLedger;
  readonly run: (options: {
    held?: QuarantineState['held'];
    /** Called with each checkpoint. */
    onSave?: (checkpoint: Checkpoint) => void;
    /** The time until the output is durable. */
    sync?: () => Promise<void>;
    isTrustedElsewhere?: () => Promise<boolean>;
    drain?: AbortSignal;
    /** The output cannot be opened. */
    outputFails?: Error;
    wasKilled?: boolean;
  }) => Promise<{ readonly finished: Checkpoint } | { readonly stoppedBy: unknown }>;
}

async function make(emails: readonly string[]): Promise<Made> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  await writeFile(folder.at('in.csv'), `email\n${emails.map((email) => `${email}\n`).join('')}`);
  const job = compiled({
    flags: {
      input: folder.at('in.csv'),
      output: folder.at('out.csv'),
      'base-url': service.url,
      plan: 'enterprise',
      steps: 'enrich',
      concurrency: String(emails.length),
      'checkpoint.everyMs': '50',
    },
  });
  const paths = jobPaths(job, { scratch: null });
  const manifest = await freezeJobInput(job, paths, new AbortController().signal);
  const checkpoint = newCheckpoint(job, paths, manifest, 1, new Date());
  const file = Ledger.open({ path: paths.ledger, job: job.name, run: checkpoint.run, maxAgeDays: 0, now: Date.now });
  cleanUp(() => file.close());
  const ledger = new WatchedLedger(file);
  return {
    service,
    ledger,
    run: async (options) => {
      const {
        held,
        onSave,
        sync,
        isTrustedElsewhere = null,
        drain = new AbortController().signal,
        outputFails,
        wasKilled = false,
      } = options;
      const rows = { mark: START_MARK, bytes: 0, errorBytes: 0, sha256: '', errorsSha256: '', tally: EMPTY_TALLY };
      const nothing = (): void => undefined;
      const saved: Checkpoint[] = [];
      const writer: RowWriter = {
        tally: EMPTY_TALLY,
        write: nothing,
        room: () => null,
        sync: async () => {
          await sync?.();
          return START_MARK;
        },
        settled: async () => undefined,
        finish: async () => rows,
        commit: async () => undefined,
        close: async () => undefined,
      };
      try {
        await runPipeline({
          job,
          checkpoint: { ...checkpoint, held },
          isResumed: false,
          wasKilled,
          retry: null,
          access: new Map([['service', { baseUrl: service.url, apiKey: new RotatingKey(API_KEY) }]]),
          command: 'millrace run',
          signals: { drain, abort: new AbortController().signal },
          destination: {
            openLedger: async () => ledger,
            openWriter: async () => {
              if (outputFails !== undefined) throw outputFails;
              return writer;
            },
            saveCheckpoint: async (latest) => {
              saved.push(latest);
              onSave?.(latest);
            },
            finish: (writer) => writer.finish(),
            commit: async () => undefined,
            reportStop: async () => undefined,
          },
          reporter: {
            detail: nothing,
            info: nothing,
            warn: nothing,
            start: nothing,
            stop: nothing,
            stopped: nothing,
            finished: nothing,
            done: nothing,
            close: async () => undefined,
          },
          waits: new Waits(),
          isTrustedElsewhere,
        });
        return { finished: saved.at(-1) as Checkpoint };
      } catch (error) {
        return { stoppedBy: error };
      }
    },
  };
}

const MISSES = ['miss1@works.example', 'miss2@works.example', 'miss3@works.example'];

test('an answer in quarantine is in each checkpoint until the ledger has it durably, however slow the output is', async () => {
  const { service, ledger, run } = await make([...MISSES, 'ana@works.example']);
  const answer = Promise.withResolvers<void>();
  service.script = ({ keys }, _response, reply, usual) => {
    if (MISSES.includes(keys[0] as string)) reply(usual());
    else void answer.promise.then(() => reply(usual()));
  };
  const answered = Promise.withResolvers<void>();
  ledger.onPut = () => {
    if (ledger.has.size === MISSES.length + 1) answered.resolve();
  };
  let allHeld = false;
  const missing: string[][] = [];
  const end = await run({
    onSave: ({ held = [] }) => {
      const kept = new Set([...held.map(({ key }) => key), ...ledger.durable]);
      allHeld ||= held.length === MISSES.length;
      if (allHeld) missing.push(MISSES.filter((key) => !kept.has(key)));
    },
    // The service becomes trusted during a checkpoint: after the ledger was written, and before the output was.
    sync: async () => {
      if (!allHeld) return;
      answer.resolve();
      await answered.promise;
    },
  });
  expect(end).toMatchObject({ finished: { state: 'finishing', trusted: true, held: [] } });
  expect(missing.length).toBeGreaterThanOrEqual(2);
  expect(missing.flat()).toEqual([]);
});

test('a finished job leaves no answer in quarantine, so a retry asks for it again', async () => {
  const { service, run } = await make(MISSES);
  const held = [
    {
      step: 'enrich',
      key: 'other@works.example',
      said: '422 validation_failed',
      refused: true,
      answer: { kind: 'failed', code: 'validation_failed', attempts: 1, requestId: null },
    },
  ] as const;
  const kept: QuarantineState[] = [];
  expect(await run({ held, onSave: (checkpoint) => kept.push(checkpoint) })).toMatchObject({ finished: { held: [] } });
  expect(kept[0]?.held).toEqual(held);
  expect(service.requests).toHaveLength(MISSES.length);
});

test.each([true, false])(
  'answers in quarantine stay in the checkpoint while other shards are asked whether they trust the service (they do: %s)',
  async (known) => {
    const misses = Array.from({ length: DISTRUST_AFTER }, (_, i) => `miss${i}@works.example`);
    const { ledger, run } = await make(misses);
    const asked = Promise.withResolvers<void>();
    const asking: QuarantineState[] = [];
    let looks = false;
    const end = await run({
      onSave: (checkpoint) => {
        if (!looks) return;
        asking.push(checkpoint);
        if (asking.length === 2) asked.resolve();
      },
      isTrustedElsewhere: async () => {
        looks = true;
        await asked.promise;
        looks = false;
        return known;
      },
    });
    for (const { held } of asking) expect(held?.map(({ key }) => key).sort()).toEqual(misses.toSorted());
    expect(['finished' in end, ledger.has.size]).toEqual(known ? [true, DISTRUST_AFTER] : [false, 0]);
  },
);

test('a hundred misses, the last of them answered while the run drains, are judged by the next run without new calls', async () => {
  const misses = Array.from({ length: DISTRUST_AFTER }, (_, i) => `miss${i}@works.example`);
  const { service, run } = await make(misses);
  const stop = new AbortController();
  service.script = (_asked, _response, reply, usual) => {
    if (service.requests.length < DISTRUST_AFTER / 2) reply(usual());
    else stop.signal.addEventListener('abort', () => reply(usual()));
  };
  const kept: QuarantineState[] = [];
  const running = run({ onSave: (checkpoint) => kept.push(checkpoint), drain: stop.signal });
  await service.when(() => service.requests.length === DISTRUST_AFTER);
  stop.abort(new Error('stopped by the test'));
  expect(await running).toEqual({ stoppedBy: stop.signal.reason as unknown });
  expect(
    kept
      .at(-1)
      ?.held?.map(({ key }) => key)
      .sort(),
  ).toEqual(misses.toSorted());

  const next = await run({ held: kept.at(-1)?.held });
  expect(next).toMatchObject({ stoppedBy: { code: 'one_kind_of_answer' } });
  expect(service.requests).toHaveLength(DISTRUST_AFTER);
});

test.each([false, true])(
  'when the output cannot be opened, what was open is closed, and only after a kill (%s) the checkpoint still says running',
  async (wasKilled) => {
    const { service, ledger, run } = await make(MISSES);
    const states: string[] = [];
    const outputFails = new Error('no space left on device');
    const end = await run({ outputFails, wasKilled, onSave: ({ state }) => states.push(state) });
    expect(end).toEqual({ stoppedBy: outputFails });
    expect([ledger.closings, states, service.requests.length]).toEqual([1, wasKilled ? [] : ['stopped'], 0]);
  },
);
