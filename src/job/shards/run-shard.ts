import { setTimeout as sleep } from 'node:timers/promises';
import { readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { EXIT, InputError, type ExitCode } from '../../errors.ts';
import { describeChange } from '../../reader/freeze.ts';
import { holdJob } from '../hold-job.ts';
import { jobPaths, type JobPaths } from '../paths.ts';
import type { Reporter } from '../reporter.ts';
import { buildReport } from '../report.ts';
import { go, goOnAfterFinish, newCheckpoint, refuseForeignOutput, refuseOthersFiles, resume, withAddress, type Start, type StartOptions } from '../start.ts';
import { refuseChangedDefinition, refuseForeignCheckpoint } from '../start-checks.ts';
import type { CompiledJob, RunOptions, Shard } from '../types.ts';
import { pathsOf, readParts } from './parts.ts';
import { isJoined, look, settle } from './settle.ts';
import { rangeOf, shardJob, shardName } from './shard-job.ts';
import { isSamePlan, readShardPlan, type ShardPlan } from './shard-plan.ts';

/** How the run of a part begins: like `decideStart`. */
export type Decide = (job: CompiledJob, paths: JobPaths, options: StartOptions) => Promise<Start>;

/**
 * Runs one shard of a job, or resumes it. Whichever is through last joins what all have written. A shard that is through
 * before the others exits with 0; the one that joins, and whoever comes after it, with the code of the whole job.
 * @param runPart runs a part as a job of its own
 * @throws MillraceError whatever ended the run; its state is on disk by then
 */
export async function runShard(job: CompiledJob, shard: Shard, options: RunOptions, drain: AbortSignal, reporter: Reporter, runPart: (part: CompiledJob, decide: Decide, vouched: () => Promise<boolean>) => Promise<unknown>): Promise<ExitCode> {
  const paths = jobPaths(job, options);
  let done: string | null = null;
  for (let { fresh } = options; ; fresh = false) {
    const settled = await holdJob(paths, { signal: drain, reporter, patient: true, before: () => refuseOthersFiles(paths) }, (lock, lost) =>
      settle(job, paths, shard, lock, { fresh, now: () => new Date(), signal: AbortSignal.any([drain, lost]), reporter, done }));
    switch (settled.kind) {
      case 'run':
        await runPart(shardJob(job, settled.plan, shard.index), (part, own, start) => decideShardStart(paths, settled.plan, shard, part, own, start), () => vouchedByOthers(job, settled.plan));
        done = settled.plan.run;
        break;
      case 'through':
        reporter.info('shard_finished', `shard ${shardName(shard)} is through; ${settled.waitsFor.length === 0 ? 'another process has joined the output' : `the output comes when the others are: ${settled.waitsFor.join(', ')}`}`);
        return EXIT.ok;
      case 'done': {
        const report = buildReport(settled.checkpoint, job.output.uri, job.service.rpm);
        if (settled.because === null) reporter.finished(report, paths);
        else reporter.done(report, paths, settled.because);
        return (settled.checkpoint.exitCode ?? EXIT.ok) as ExitCode;
      }
      default:
        return settled satisfies never;
    }
  }
}

/** What a run of this shard would begin with; changes nothing. The job is that of the shard. @throws as `runShard` */
export async function howShardWouldStart(job: CompiledJob, paths: JobPaths, shard: Shard, options: StartOptions): Promise<{ job: CompiledJob; start: Start }> {
  const plan = await look(job, paths, shard, options);
  if ('kind' in plan) return { job, start: plan };
  const part = shardJob(job, plan, shard.index);
  return { job: part, start: await decidePart(plan, shard.index, part, pathsOf(part), options) };
}

/** Decides how a shard begins, once it is held. @throws InputError 65, ConfigError 78, StorageError 74 */
async function decideShardStart(whole: JobPaths, plan: ShardPlan, { index }: Shard, job: CompiledJob, paths: JobPaths, options: StartOptions): Promise<Start> {
  // Joined, or begun anew, before this shard was held: what there is to do must be asked again.
  if (!(await isInForce(whole, plan))) return { kind: 'done', checkpoint: beginning(plan, index, job, paths, options), because: OVERTAKEN };
  return decidePart(plan, index, job, paths, options);
}

async function decidePart(plan: ShardPlan, index: number, job: CompiledJob, paths: JobPaths, options: StartOptions): Promise<Start> {
  const { of } = plan;
  const found = await readCheckpoint(paths.checkpoint);
  if (found?.run !== plan.run) {
    if (found === null) await refuseForeignOutput(paths);
    const changed = await describeChange(plan.manifest, options.signal);
    if (changed !== null) throw new InputError('input_changed', `the input changed since it was shared out: ${changed}`, { hint: `Put the input back as it was; or start over with --shard 0/${of} --fresh, and then the others.` });
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
  // It began with the run: what that was told before it was shared out counts, wherever the ledger lies that can tell when.
  const { of, before, run, startedAt } = plan;
  const shard = { index, of, ...rangeOf(plan.ranges, index) };
  // Of what the run before has spent of the last minute, each shard takes its part.
  const { trusted = false, answered = false, spent = null } = before ?? {};
  return { ...newCheckpoint(job, paths, plan.manifest, plan.generation, now(), shard), run, startedAt, trusted, answered, spent: spent === null ? null : { ...spent, calls: Math.ceil(spent.calls / of) } };
}

/** Whether some shard knows the service to be one. What another has just learnt is in its next checkpoint: it is given the time. */
async function vouchedByOthers(job: CompiledJob, plan: ShardPlan): Promise<boolean> {
  for (let look = 0; look < LOOKS_FOR_TRUST; look++) {
    if (look > 0) await sleep(job.checkpoint.everyMs / 2, undefined, { ref: false });
    if ((await readParts(job, plan)).some(({ checkpoint }) => checkpoint?.trusted === true)) return true;
  }
  return false;
}

/** Over three times `checkpoint.everyMs`. */
const LOOKS_FOR_TRUST = 7;

const OVERTAKEN = 'another process has done this shard meanwhile';

async function isInForce(whole: JobPaths, plan: ShardPlan): Promise<boolean> {
  const now = await readShardPlan(whole.shards);
  return now !== null && isSamePlan(now, plan) && !isJoined(plan, await readCheckpoint(whole.checkpoint));
}
