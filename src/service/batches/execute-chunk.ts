/** Executes the lines of a chunk: starts them in slices of the scheduler, then waits for all. */
import type { ServiceLog } from '../monitoring/log.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import type { BatchRow } from './batch-rows.ts';
import { toLine, type RawLine } from './read-lines.ts';
import { CHUNK_RESULT_BYTES } from './batch-limits.ts';
import { LeaseLost } from './commit.ts';
import type { Scheduler } from './scheduler.ts';
import { lineExecutor, type LineOutcome, type Execution, type ExecuteContext } from './execute.ts';

export interface ExecuteChunkOptions {
  readonly executeContext: ExecuteContext;
  readonly scheduler: Scheduler;
  readonly log: ServiceLog | null;
  readonly health: Pick<StoreHealth, 'damaged'>;
  readonly stopped: () => boolean;
}

/**
 * The outcomes of the lines, up to about `CHUNK_RESULT_BYTES` of results.
 * @throws LeaseLost when the service stops; temporary errors: then no line of the chunk counts
 */
export async function executeChunk(
  { executeContext, scheduler, log, health, stopped }: ExecuteChunkOptions,
  { id, request, header }: Pick<BatchRow, 'id' | 'request' | 'header'>,
  lines: readonly RawLine[],
): Promise<LineOutcome[]> {
  const onBug = (error: unknown): void =>
    log?.write('error', { event: 'bug', batch: id, error: error instanceof Error ? error.stack : String(error) });
  const onDamage = (error: unknown): void => health.damaged('batches', error);
  const executor = lineExecutor(executeContext, request, { onBug, onDamage }, scheduler.take);
  const executed: Execution['outcome'][] = [];
  let size = 0;
  await scheduler.run(() => {
    const raw = lines[executed.length];
    if (raw === undefined) return true;
    const { outcome, size: more } = executor.execute(toLine(raw, request.format, header));
    // An earlier line may reject first. Rejections of later lines must not be unhandled.
    if (outcome instanceof Promise) outcome.catch(() => undefined);
    size += more;
    executed.push(outcome);
    return executed.length >= lines.length || size >= CHUNK_RESULT_BYTES;
  });
  executor.flush();
  const outcomes: LineOutcome[] = [];
  for (const outcome of executed) outcomes.push(outcome instanceof Promise ? await outcome : outcome);
  // Outcomes that the stop of the service cut short do not count.
  if (stopped()) throw new LeaseLost();
  return outcomes;
}
