import { servicePace } from '../../definition/job-provider.ts';
import { openJsonLog } from '../../telemetry/json-log.ts';
import type { Reporter } from './reporter.ts';
import { resumesBy } from './resumes-by.ts';
import { ownRpm } from '../shards/shard-job.ts';
import { answeredKinds, kindRates } from '../../writer/rates.ts';
import type { Tally } from '../../writer/tally.ts';
import { snapshots, type HeldUp } from './snapshot.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

const PROGRESS_EVERY_MS = 10_000;

/** JSON lines on standard error by pino, one progress line every 10 s. */
export function logReporter(job: CompiledJob, level: string): Reporter {
  const log = openJsonLog(level, false);
  const { logger } = log;
  let timer: NodeJS.Timeout | null = null;
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    detail: (event, text) => logger.info({ event, job: job.name }, text),
    info: (event, text) => logger.info({ event, job: job.name }, text),
    warn: (event, text) => logger.warn({ event, job: job.name }, text),
    start: (parts) => {
      const snapshot = snapshots(parts, ownRpm(servicePace(parts.job), parts.checkpoint), parts.job.limits.limit, () => performance.now());
      const { checkpoint, resumed } = parts;
      logger.info(
        {
          event: resumed ? 'resumed' : 'started',
          job: job.name,
          run: checkpoint.run,
          files: checkpoint.manifest.files.length,
          rows: checkpoint.mark.tally.total,
          keys: checkpoint.manifest.keyName,
        },
        resumed ? 'resumed where it stopped' : 'started',
      );
      timer = setInterval(() => {
        const {
          tally,
          share,
          expected,
          inProgress,
          rowsPerSecond,
          callsPerSecond,
          quotaShare,
          etaMs,
          retries,
          throttled,
          concurrency,
          heldUp,
          verifyRequests,
        } = snapshot();
        logger.info(
          {
            event: 'progress',
            job: job.name,
            rows: tally.total,
            inProgress,
            ...tally.outcomes,
            ...matchRatesOf(tally),
            share: round(share, 4),
            records: expected?.records ?? null,
            rowsPerSecond: round(rowsPerSecond, 1),
            callsPerSecond: round(callsPerSecond, 1),
            quotaShare: quotaShare === null ? null : round(quotaShare, 3),
            etaS: etaMs === null ? null : Math.round(etaMs / 1_000),
            retries,
            throttled: throttled.events,
            throttledMs: Math.round(throttled.waitedMs),
            concurrency,
            heldUpBy: heldUp?.by ?? null,
            heldUpWhat: heldUp?.what ?? null,
            heldUpForMs: Math.round(heldUp?.forMs ?? 0),
            heldUpUntil: untilOf(heldUp),
            heldUpLeftMs: Math.round(heldUp?.leftMs ?? 0),
            downMs: heldUp?.by === 'outage' ? Math.round(heldUp.forMs) : 0,
            ...(verifyRequests === undefined ? {} : { verifyAddresses: verifyRequests.addresses, verifyTooLarge: verifyRequests.tooLarge }),
          },
          'progress',
        );
      }, PROGRESS_EVERY_MS);
    },
    stop,
    stopped: (report) => logger.warn({ event: 'stopped', ...report }, `stopped early; ${resumesBy(job)}`),
    finished: (report) => logger.info({ event: 'finished', ...report }, 'finished'),
    done: (report, _paths, why) => logger.info({ event: 'nothing_to_do', ...report }, why),
    close: async () => {
      stop();
      log.close();
    },
  };
}

/** The match rate of each kind that was answered, such as `peopleMatched: 0.83`. */
function matchRatesOf(tally: Tally): Record<string, number> {
  return Object.fromEntries(kindRates(answeredKinds(tally)).map(({ kind, rate }) => [`${kind}Matched`, round(rate, 4)]));
}

/** When the wait ends, RFC 3339; null when that is unknown. */
function untilOf(heldUp: HeldUp | null): string | null {
  return heldUp === null || heldUp.leftMs === null ? null : new Date(Date.now() + heldUp.leftMs).toISOString();
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
