import { describe, expect, it } from 'vitest';
import { HostLimits } from '../../../src/verification/smtp/host-limits.ts';

function hostLimits(): { limits: HostLimits; time: { ms: number } } {
  const time = { ms: 0 };
  return { limits: new HostLimits(() => time.ms), time };
}

describe('HostLimits', () => {
  it('a conversation asks about no more recipients than the smallest number after which the host broke off', () => {
    const { limits } = hostLimits();
    expect(limits.maxRecipients('mx.test')).toBe(100);
    for (const answers of [30, 20, 25]) limits.brokeOff('mx.test', answers);
    expect([limits.maxRecipients('mx.test'), limits.maxRecipients('other.test'), limits.maxConversations('mx.test')]).toEqual([
      20,
      100,
      Infinity,
    ]);
  });

  it('the wait before the next conversation doubles up to two seconds, until a conversation ends normally', () => {
    const { limits, time } = hostLimits();
    const waits = Array.from({ length: 7 }, () => {
      time.ms += limits.waitMs('mx.test');
      limits.brokeOff('mx.test', 20);
      // Conversations that end at the same time do not double the wait again.
      limits.brokeOff('mx.test', 20);
      limits.refusedAnother('mx.test', 3);
      return limits.waitMs('mx.test');
    });
    expect(waits).toEqual([250, 500, 1_000, 2_000, 2_000, 2_000, 2_000]);
    time.ms += 2_000;
    expect(limits.waitMs('mx.test')).toBe(0);
    limits.endedNormally('mx.test');
    limits.brokeOff('mx.test', 20);
    expect(limits.waitMs('mx.test')).toBe(250);
  });

  it('the limit of conversations is the number that was open when the host refused another, but at least one', () => {
    const { limits } = hostLimits();
    limits.refusedAnother('mx.test', 3);
    expect(limits.maxConversations('mx.test')).toBe(3);
    limits.refusedAnother('mx.test', 0);
    expect(limits.maxConversations('mx.test')).toBe(1);
    limits.refusedAnother('mx.test', 5);
    expect(limits.maxConversations('mx.test')).toBe(1);
  });

  it('a host counts as alive for a minute after an answer, and its limits are forgotten after ten minutes', () => {
    const { limits, time } = hostLimits();
    expect(limits.isAlive('mx.test')).toBe(false);
    limits.endedNormally('mx.test');
    limits.brokeOff('mx.test', 5);
    time.ms = 59_999;
    expect(limits.isAlive('mx.test')).toBe(true);
    time.ms = 60_000;
    expect([limits.isAlive('mx.test'), limits.maxRecipients('mx.test')]).toEqual([false, 5]);
    time.ms = 600_000;
    expect(limits.maxRecipients('mx.test')).toBe(100);
  });
});
