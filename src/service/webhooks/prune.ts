/** What is looked after from time to time: how many deliveries are kept, and for how long, and what time has made wrong. */
import { setImmediate } from 'node:timers/promises';
import type { StoreWrites } from '../store-writes.ts';
import type { Dropped } from './delivery.ts';
import type { DeliveryRows } from './delivery-rows.ts';
import { LONGEST_MS } from './retries.ts';
import type { WebhookRows } from './webhook-rows.ts';

const KEPT_MS = 30 * 24 * 3_600_000;
/** Deliveries of one webhook, or of one key to addresses without one. */
export const MOST_KEPT = 10_000;
/** Dropped in one go: 40 milliseconds in which nobody is answered, 100 where all still wait to be delivered. */
export const AT_ONCE = 5_000;

interface Parts {
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly writes: StoreWrites;
}

/** Drops what is settled and old, and what is too much, the oldest first; of what is too much, what is settled comes before what is still to be delivered. Returns how many were not delivered, which is counted with their webhooks, and whether there is more to drop. */
export async function pruneDeliveries({ webhooks, deliveries, writes }: Parts, nowMs: number): Promise<{ readonly lost: number; readonly isMore: boolean }> {
  const beforeMs = nowMs - KEPT_MS;
  const crowded = await crowdedOf(deliveries);
  if (crowded.length === 0 && !deliveries.isAnyOld(beforeMs)) return { lost: 0, isMore: false };
  const { dropped, lost } = await writes.write(() => {
    const dropped: Dropped[] = deliveries.dropOld(beforeMs, AT_ONCE);
    for (const channel of crowded) dropped.push(...deliveries.dropBeyond(channel, MOST_KEPT, AT_ONCE - dropped.length));
    const lost = dropped.filter(({ isLost }) => isLost);
    for (const [channel, { length }] of Map.groupBy(lost, (one) => one.channel)) webhooks.countDropped(channel, length);
    return { dropped, lost };
  });
  return { lost: lost.length, isMore: dropped.length === AT_ONCE };
}

/** Those that have more than they may. To count thousands takes a moment, so that others are let in between. */
async function crowdedOf(deliveries: DeliveryRows): Promise<string[]> {
  const crowded: string[] = [];
  // Those that have grown again meanwhile are for the next time.
  const grown = Array.from(deliveries.grown);
  for (const channel of grown) {
    if (deliveries.isCrowded(channel, MOST_KEPT)) crowded.push(channel);
    else deliveries.grown.delete(channel);
    await setImmediate();
  }
  return crowded;
}

/** Has deliveries tried that a clock which was ahead has put off, and forgets secrets that sign no more. */
export async function setRight({ webhooks, deliveries, writes }: Parts, nowMs: number): Promise<void> {
  // Nothing waits that long of itself.
  const latestMs = nowMs + LONGEST_MS;
  if (deliveries.isAnyBehind(latestMs)) await writes.write(() => deliveries.pullTo(nowMs, latestMs));
  if (webhooks.isAnyFormer(nowMs)) await writes.write(() => webhooks.forgetFormer(nowMs));
}
