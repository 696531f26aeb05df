/** Pruning: limits the number and the age of deliveries, and repairs schedules after a wrong clock. */
import { setImmediate } from 'node:timers/promises';
import type { StoreWrites } from '../calls/store-writes.ts';
import type { Dropped } from './delivery.ts';
import type { DeliveryRows } from './delivery-rows.ts';
import { LONGEST_MS } from './retry-schedule.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** How long settled deliveries are stored, milliseconds. */
const RETENTION_MS = 30 * 24 * 3_600_000;
/** The limit of stored deliveries of a channel: of one webhook, or of one key's addresses without a webhook. */
export const MAX_DELIVERIES = 10_000;
/** Deliveries that one transaction drops. It blocks requests for 40 milliseconds, or 100 if all of them are pending. */
export const BATCH = 5_000;

interface PruneStores {
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly writes: StoreWrites;
}

/**
 * Drops old settled deliveries, and deliveries beyond the limit: settled before pending ones, the oldest first. Returns the number of
 * dropped pending ones, which their webhooks count, and whether more is left to drop.
 */
export async function pruneDeliveries(
  { webhooks, deliveries, writes }: PruneStores,
  nowMs: number,
): Promise<{ readonly lost: number; readonly isMore: boolean }> {
  const beforeMs = nowMs - RETENTION_MS;
  const crowded = await crowdedOf(deliveries);
  if (crowded.length === 0 && !deliveries.isAnyOld(beforeMs)) return { lost: 0, isMore: false };
  const { dropped, lost } = await writes.write(() => {
    const dropped: Dropped[] = deliveries.dropOld(beforeMs, BATCH);
    for (const channel of crowded) dropped.push(...deliveries.dropBeyond(channel, MAX_DELIVERIES, BATCH - dropped.length));
    const lost = dropped.filter(({ isLost }) => isLost);
    for (const [channel, { length }] of Map.groupBy(lost, (one) => one.channel)) webhooks.countDropped(channel, length);
    return { dropped, lost };
  });
  return { lost: lost.length, isMore: dropped.length === BATCH };
}

/** Channels beyond the limit. Counting thousands takes a moment, so requests run in between. */
async function crowdedOf(deliveries: DeliveryRows): Promise<string[]> {
  const crowded: string[] = [];
  // Channels that grow meanwhile are left to the next run.
  const grown = Array.from(deliveries.grown);
  for (const channel of grown) {
    if (deliveries.isCrowded(channel, MAX_DELIVERIES)) crowded.push(channel);
    else deliveries.grown.delete(channel);
    await setImmediate();
  }
  return crowded;
}

/** Makes deliveries due that were postponed while the clock was ahead. Deletes former secrets that are no longer valid. */
export async function repairSchedules({ webhooks, deliveries, writes }: PruneStores, nowMs: number): Promise<void> {
  // No retry is later than this.
  const latestMs = nowMs + LONGEST_MS;
  if (deliveries.isAnyDueAfter(latestMs)) await writes.write(() => deliveries.pullTo(nowMs, latestMs));
  if (webhooks.isAnyFormer(nowMs)) await writes.write(() => webhooks.deleteFormer(nowMs));
}
