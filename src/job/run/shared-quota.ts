import type { RotatingKey } from '../../client/rotating-key.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { openSharedQuota } from '../../limiter/rules/shared/open-shared-quota.ts';
import type { SharedQuota } from '../../limiter/rules/shared/shared-quota.ts';
import { withoutSecret } from '../../redis/uri.ts';
import type { RunMessages } from '../progress/run-messages.ts';
import { serviceOrigin } from '../lifecycle/service-origin.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/**
 * Opens the quota that this run shares with other pods; null where the job shares none, or the plan is unlimited.
 * @param checkpoint of the run: at least its shards share the plan
 */
export async function openRunQuota(
  job: CompiledJob,
  apiKey: RotatingKey,
  reporter: Pick<RunMessages, 'info' | 'warn'>,
  checkpoint: Pick<Checkpoint, 'run' | 'shard'>,
): Promise<SharedQuota | null> {
  const { quota, rpm } = job.service;
  if (quota === null || rpm === null) return null;
  return openSharedQuota({
    uri: quota,
    account: `${serviceOrigin(job.service.baseUrl)}\n${apiKey.value ?? ''}`,
    rpm,
    workload: podNameOf(checkpoint),
    podsAtLeast: checkpoint.shard?.of ?? 1,
    onStateChange: (standing, ownRpm, why) => {
      if (standing === 'alone') {
        const said = withoutSecret(why instanceof Error ? why.message : String(why));
        reporter.warn(
          'quota_alone',
          `the shared quota at ${withoutSecret(quota)} cannot be reached (${said}): this run goes by its own share of the plan, ` +
            `${ownRpm} requests a minute, until it can`,
        );
      } else reporter.info('quota_shared', `the quota is shared at ${withoutSecret(quota)}`);
    },
  });
}

/** The same for each resume of a run or shard, wherever it goes on. A host name would not do: a restarted container has another one. */
function podNameOf({ run, shard }: Pick<Checkpoint, 'run' | 'shard'>): string {
  return `${run}\n${shard?.index ?? 0}`;
}
