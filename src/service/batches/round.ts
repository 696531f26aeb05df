/** Lines that are worked on together: begun in slices of the thread, and waited for. */
import type { ServiceLog } from '../watch/log.ts';
import type { StoreHealth } from '../watch/store-health.ts';
import type { BatchRow } from './batch-rows.ts';
import { toLine, type RawLine } from './input.ts';
import { ROUND_RESULT_BYTES } from './limits.ts';
import { Dismissed } from './notes.ts';
import type { Pacer } from './pacer.ts';
import { performer, type Outcome, type Performed, type Performing } from './perform.ts';

export interface RoundOptions {
  readonly performing: Performing;
  readonly pacer: Pacer;
  readonly log: ServiceLog | null;
  readonly health: Pick<StoreHealth, 'damaged'>;
  readonly stopped: () => boolean;
}

/** What became of the lines, from the first on until there are so many bytes of results. @throws Dismissed where it is to stop; what may work later, and then nothing of the round is done */
export async function performRound({ performing, pacer, log, health, stopped }: RoundOptions, { id, request, header }: Pick<BatchRow, 'id' | 'request' | 'header'>, lines: readonly RawLine[]): Promise<Outcome[]> {
  const one = performer(performing, request, {
    onBug: (error) => log?.write('error', { event: 'bug', batch: id, error: error instanceof Error ? error.stack : String(error) }),
    onDamage: (error) => health.damaged('batches', error),
  });
  const performed: Performed['outcome'][] = [];
  let size = 0;
  await pacer.work(() => {
    const raw = lines[performed.length];
    if (raw === undefined) return true;
    const { outcome, size: more } = one.perform(toLine(raw, request.format, header));
    // Whoever gives up on the way has not heard of it.
    if (outcome instanceof Promise) outcome.catch(() => undefined);
    size += more;
    performed.push(outcome);
    return performed.length >= lines.length || size >= ROUND_RESULT_BYTES;
  });
  one.flush();
  const outcomes: Outcome[] = [];
  for (const outcome of performed) outcomes.push(outcome instanceof Promise ? await outcome : outcome);
  // What was cut short by the end of the service is no result.
  if (stopped()) throw new Dismissed();
  return outcomes;
}
