import { setTimeout as sleep } from 'node:timers/promises';
import { readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { EXIT, InputError, type ExitCode } from '../../util/errors.ts';
import { describeChange } from '../../reader/freeze.ts';
import { withJobLock } from '../lifecycle/with-job-lock.ts';
import { jobPaths, type JobPaths } from '../lifecycle/paths.ts';
import type { StopSignals } from '../../util/stop-signals.ts';
import type { Reporter } from '../progress/reporter.ts';
import { buildReport } from '../report/report.ts';
import { go, type DecideStart, type Start, type StartOptions } from '../lifecycle/start-decision.ts';
import { goOnAfterFinish, refuseForeignOutput, refuseOthersFiles, resume, withAddress } from '../lifecycle/start.ts';
import { providerState } from '../../checkpoint/provider-state.ts';
import { newCheckpoint } from '../lifecycle/new-checkpoint.ts';
import type { TrustedElsewhere } from '../run/service-doubt.ts';
import { knownBefore } from './known-before.ts';
import { refuseChangedDefinition, refuseForeignCheckpoint } from '../lifecycle/start-checks.ts';
import type { CompiledJob, RunOptions, Shard } from '../../definition/compiled-job.ts';
import { pathsOf, readParts } from './parts.ts';
import { decideShard, isJoined, previewShardPlan } from './decide-shard.ts';
import { refuseUnsharable, shardRange, shardJob, shardName } from './shard-job.ts';
import { isSamePlan, readShardPlan, type ShardPlan } from './shard-plan.ts';

/**
 * Runs one shard of a job, or resumes it. The last shard to finish joins the parts of all. A shard that finishes before the others exits
 * with 0; the one that joins, and every later call, with the exit code of the whole job.
 * @param runPart runs a part as a job of its own
 * @throws MillraceError the reason that ended the run; its state is on disk by then
 */
export async function runShard(
  job: CompiledJob,
  shard: Shard,
  options: RunOptions,
  signals: StopSignals,
  reporter: Reporter,
  runPart: (part: CompiledJob, decide: DecideStart, isTrustedElsewhere: TrustedElsewhere) => Promise<unknown>,
): Promise<ExitCode> {
  refuseUnsharable(job, shard.of);
  const paths = jobPaths(job, options);
  let done: string | null = null;
  for (let { fresh } = options; ; fresh = false) {
    const decision = await withJobLock(
      paths,
      { signals, reporter, untilReleased: true, before: () => refuseOthersFiles(paths) },
      (lock, held) =>
        decideShard(job, paths, shard, lock, { fresh, now: () => new Date(), signal: held.drain, signals: held, reporter, done }),
    );
    switch (decision.kind) {
      case 'run':
        await runPart(
          shardJob(job, decision.plan, shard.index),
          (part, own, start) => decideShardStart(paths, decision.plan, shard, part, own, start),
          (provider) => isTrustedByOthers(job, decision.plan, provider),
        );
        done = decision.plan.run;
        break;
      case 'through':
        reporter.info(
          'shard_finished',
          `shard ${shardName(shard)} is through; ` +
            (decision.waitsFor.length === 0
              ? 'another process has joined the output'
              : `the output comes when the others are: ${decision.waitsFor.join(', ')}`),
        );
        return EXIT.ok;
      case 'done': {
        const report = buildReport(decision.checkpoint, job);
        if (decision.because === null) reporter.finished(report, paths);
        else reporter.done(report, paths, decision.because, decision.isNew === true);
        return (decision.checkpoint.exitCode ?? EXIT.ok) as ExitCode;
      }
      default:
        return decision satisfies never;
    }
  }
}

/** How a run of this shard would begin, and the job of the shard; changes nothing. @throws as `runShard` */
export async function howShardWouldStart(
  job: CompiledJob,
  paths: JobPaths,
  shard: Shard,
  options: StartOptions,
): Promise<{ job: CompiledJob; start: Start }> {
  refuseUnsharable(job, shard.of);
  const plan = await previewShardPlan(job, paths, shard, options);
  if ('kind' in plan) return { job, start: plan };
  const part = shardJob(job, plan, shard.index);
  return { job: part, start: await decidePart(plan, shard.index, part, pathsOf(part), options) };
}

/** Decides how a shard begins, once it is held. @throws InputError 65, ConfigError 78, StorageError 74 */
async function decideShardStart(
  whole: JobPaths,
  plan: ShardPlan,
  { index }: Shard,
  job: CompiledJob,
  paths: JobPaths,
  options: StartOptions,
): Promise<Start> {
  // Joined, or started over, before this shard was locked: the caller decides again.
  if (!(await isInForce(whole, plan))) return { kind: 'done', checkpoint: beginning(plan, index, job, paths, options), because: OVERTAKEN };
  return decidePart(plan, index, job, paths, options);
}

async function decidePart(plan: ShardPlan, index: number, job: CompiledJob, paths: JobPaths, options: StartOptions): Promise<Start> {
  const { of } = plan;
  const found = await readCheckpoint(paths.checkpoint);
  if (found?.run !== plan.run) {
    if (found === null) await refuseForeignOutput(paths);
    const changed = await describeChange(plan.manifest, options.signal);
    if (changed !== null)
      throw new InputError('input_changed', `the input changed since it was shared out: ${changed}`, {
        hint: `Put the input back as it was; or start over with --shard 0/${of} --fresh, and then the others.`,
      });
    return { ...go(beginning(plan, index, job, paths, options)), isFirst: found === null };
  }
  refuseForeignCheckpoint(job, paths, found);
  refuseChangedDefinition(job, paths, found);
  const begun = withAddress(job, found);
  switch (begun.state) {
    case 'finishing':
      return { kind: 'finish', checkpoint: begun };
    case 'finished':
      return goOnAfterFinish(job, paths, begun, { kind: 'done', checkpoint: begun, because: OVERTAKEN });
    case 'running':
    case 'stopped':
      return resume(job, paths, begun, options);
    default:
      return begun.state satisfies never;
  }
}

function beginning(plan: ShardPlan, index: number, job: CompiledJob, paths: JobPaths, { now }: StartOptions): Checkpoint {
  // It began with the run, so answers of the run from before the shards count too, in every kind of ledger.
  const { of, run, startedAt } = plan;
  const shard = { index, of, ...shardRange(plan.ranges, index) };
  return { ...newCheckpoint(job, paths, plan.manifest, plan.generation, now(), shard), run, startedAt, ...knownBefore(plan) };
}

/** Whether some shard trusts the provider. It waits for the next checkpoints of the others, which may say so. */
async function isTrustedByOthers(job: CompiledJob, plan: ShardPlan, provider: string): Promise<boolean> {
  for (let check = 0; check < TRUST_CHECKS; check++) {
    if (check > 0) await sleep(job.checkpoint.everyMs / 2, undefined, { ref: false });
    const parts = await readParts(job, plan);
    if (parts.some(({ checkpoint }) => checkpoint !== null && providerState(checkpoint, job, provider).trusted)) return true;
  }
  return false;
}

/** Over three times `checkpoint.everyMs`. */
const TRUST_CHECKS = 7;

const OVERTAKEN = 'another process has done this shard meanwhile';

async function isInForce(whole: JobPaths, plan: ShardPlan): Promise<boolean> {
  const now = await readShardPlan(whole.shards);
  return now !== null && isSamePlan(now, plan) && !isJoined(plan, await readCheckpoint(whole.checkpoint));
}
