import { describe, expect, it } from 'vitest';
import { HostManners } from '../../../src/verification/smtp/host-manners.ts';

function manners(): { manners: HostManners; time: { ms: number } } {
  const time = { ms: 0 };
  return { manners: new HostManners(() => time.ms), time };
}

describe('HostManners', () => {
  it('asks no more in one conversation than the least after which the host broke off', () => {
    const { manners: known } = manners();
    expect(known.mostAsked('mx.test')).toBe(100);
    for (const answers of [30, 20, 25]) known.brokeOff('mx.test', answers);
    expect([known.mostAsked('mx.test'), known.mostAsked('other.test'), known.mostOpen('mx.test')]).toEqual([20, 100, Infinity]);
  });

  it('waits longer from time to time, two seconds at most, until a conversation ends as it should', () => {
    const { manners: known, time } = manners();
    const waits = Array.from({ length: 7 }, () => {
      time.ms += known.waitMs('mx.test');
      known.brokeOff('mx.test', 20);
      // Those that end with it say the same.
      known.brokeOff('mx.test', 20);
      known.refusedAnother('mx.test', 3);
      return known.waitMs('mx.test');
    });
    expect(waits).toEqual([250, 500, 1_000, 2_000, 2_000, 2_000, 2_000]);
    time.ms += 2_000;
    expect(known.waitMs('mx.test')).toBe(0);
    known.wentWell('mx.test');
    known.brokeOff('mx.test', 20);
    expect(known.waitMs('mx.test')).toBe(250);
  });

  it('has as many conversations as the host had when it refused another, one at least', () => {
    const { manners: known } = manners();
    known.refusedAnother('mx.test', 3);
    expect(known.mostOpen('mx.test')).toBe(3);
    known.refusedAnother('mx.test', 0);
    expect(known.mostOpen('mx.test')).toBe(1);
    known.refusedAnother('mx.test', 5);
    expect(known.mostOpen('mx.test')).toBe(1);
  });

  it('takes a host for alive for a minute after it answered, and forgets the rest after ten', () => {
    const { manners: known, time } = manners();
    expect(known.isAlive('mx.test')).toBe(false);
    known.wentWell('mx.test');
    known.brokeOff('mx.test', 5);
    time.ms = 59_999;
    expect(known.isAlive('mx.test')).toBe(true);
    time.ms = 60_000;
    expect([known.isAlive('mx.test'), known.mostAsked('mx.test')]).toEqual([false, 5]);
    time.ms = 600_000;
    expect(known.mostAsked('mx.test')).toBe(100);
  });
});
