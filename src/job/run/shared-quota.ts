import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { openSharedQuota } from '../../limiter/rules/shared/open-shared-quota.ts';
import type { SharedQuota } from '../../limiter/rules/shared/shared-quota.ts';
import { withoutSecret } from '../../redis/uri.ts';
import type { RunMessages } from '../progress/run-messages.ts';
import { serviceOrigin } from '../lifecycle/service-origin.ts';
import type { JobProvider } from '../../definition/compiled-job.ts';
import type { Pace } from '../../definition/job-provider.ts';
import { isShareable } from '../shards/shard-job.ts';
import type { ServiceAccess } from './open-calls.ts';

interface QuotaToShare {
  readonly provider: Pick<JobProvider, 'quota' | 'baseUrl'>;
  readonly access: Pick<ServiceAccess, 'apiKey'>;
  readonly pace: Pick<Pace, 'rpm' | 'windows'>;
  /** Tells the quotas of one provider apart; empty for the first. */
  readonly channel: string;
}

/**
 * Opens a quota that this run shares with other pods; null where the job shares none, or the plan is unlimited.
 * @param checkpoint of the run: at least its shards share the plan
 */
export async function openRunQuota(
  { provider: { quota, baseUrl }, access: { apiKey }, pace: { rpm, windows: all }, channel }: QuotaToShare,
  reporter: Pick<RunMessages, 'info' | 'warn'>,
  checkpoint: Pick<Checkpoint, 'run' | 'shard'>,
): Promise<SharedQuota | null> {
  const windows = all.filter(isShareable);
  if (quota === null || (rpm === null && windows.length === 0)) return null;
  return openSharedQuota({
    uri: quota,
    account: [serviceOrigin(baseUrl), apiKey.value ?? '', ...(channel === '' ? [] : [channel])].join('\n'),
    rpm,
    windows,
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
