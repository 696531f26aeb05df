/** The quota that this run shares with other pods, as its job says. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { openSharedQuota } from '../limiter/shared/open-shared-quota.ts';
import type { SharedQuota } from '../limiter/shared/shared-quota.ts';
import { withoutSecret } from '../redis/uri.ts';
import type { Reporter } from './reporter.ts';
import type { RunContext } from './run-command.ts';
import { serviceOrigin } from './service-origin.ts';
import type { CompiledJob } from './types.ts';

/**
 * Null where the job shares none: an unlimited plan has nothing to share.
 * @param checkpoint of the run: its shards are how many share the plan at least
 */
export async function sharedQuotaOf(job: CompiledJob, context: Pick<RunContext, 'apiKey'>, reporter: Pick<Reporter, 'info' | 'warn'>, checkpoint: Pick<Checkpoint, 'run' | 'shard'>): Promise<SharedQuota | null> {
  const { quota, rpm } = job.service;
  if (quota === null || rpm === null) return null;
  return openSharedQuota({
    uri: quota,
    account: `${serviceOrigin(job)}\n${context.apiKey.value ?? ''}`,
    rpm,
    place: placeOf(checkpoint),
    podsAtLeast: checkpoint.shard?.of ?? 1,
    onStanding: (standing, ownRpm, why) => {
      if (standing === 'alone') {
        const said = withoutSecret(why instanceof Error ? why.message : String(why));
        reporter.warn('quota_alone', `the shared quota at ${withoutSecret(quota)} cannot be reached (${said}): this run goes by its own share of the plan, ${ownRpm} requests a minute, until it can`);
      } else reporter.info('quota_shared', `the quota is shared at ${withoutSecret(quota)}`);
    },
  });
}

/** What is made with a quota; the quota is closed when that fails, for nobody else would: its connection keeps the process alive. */
export async function orClosed<T>(quota: SharedQuota | null, make: () => T): Promise<T> {
  try {
    return make();
  } catch (error) {
    await quota?.close();
    throw error;
  }
}

/**
 * The same for each resume of a run, or of a shard of it, and for nobody else: its checkpoint knows it again wherever it goes on.
 * A host's name would not: a container that is started again has another one.
 */
function placeOf({ run, shard }: Pick<Checkpoint, 'run' | 'shard'>): string {
  return `${run}\n${shard?.index ?? 0}`;
}
