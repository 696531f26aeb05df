import { describe, expect, it } from 'vitest';
import { RunClock } from '../../../src/job/run/run-clock.ts';

const NOW = Date.UTC(2028, 3, 10, 2);
const DAY = 86_400_000;
const AHEAD = { after: 3, upTo: 9, newestMs: NOW + 400 * DAY };

function clockWith(ahead: typeof AHEAD | null) {
  const [said, dated] = [[] as string[], [] as unknown[]];
  const say = (event: string, text: string): void => void said.push(`${event}: ${text}`);
  const clock = new RunClock({
    ledger: {
      answersAhead: (nowMs) => (nowMs === NOW ? ahead : null),
      countAsWritten: (found, nowMs) => {
        dated.push([found, nowMs]);
        return 6;
      },
    },
    reporter: { info: say, warn: say },
    now: () => NOW,
  });
  const answered = (ms: number): void => clock.answered({ date: new Date(ms).toUTCString() });
  return { clock, said, dated, answered };
}

describe('RunClock', () => {
  it('answers that are dated after now count as written now, once the service confirms the clock', () => {
    const { clock, said, dated, answered } = clockWith(AHEAD);
    expect(said).toEqual([
      'clock_behind_ledger: the clock says 2028-04-10 02:00 UTC, and the newest answer in the ledger is from 2029-05-15 02:00 UTC: ' +
        'one of the two clocks was wrong. This run counts as one of 2028-04-10; --date names another day',
    ]);
    clock.answered({});
    clock.answered({ date: 'soon' });
    expect(dated).toEqual([]);
    answered(NOW + DAY / 2);
    answered(NOW);
    expect(dated).toEqual([[AHEAD, NOW]]);
    expect(said.slice(1)).toEqual(['answers_dated: 6 answers of the ledger were dated after now, and count as written now']);
  });

  it.each([DAY, -400 * DAY])('a clock that is %d ms from the service is said once, and dates no answer', (byMs) => {
    const { said, dated, answered } = clockWith(AHEAD);
    answered(NOW + byMs);
    answered(NOW);
    expect(dated).toEqual([]);
    expect(said).toHaveLength(2);
    expect(said[1]).toMatch(
      /^clock_off: the clock says 2028-04-10 02:00 UTC, and the service says .* This run counts as one of 2028-04-10/,
    );
  });

  it('a clock that agrees with ledger and service is not mentioned', () => {
    const { said, answered } = clockWith(null);
    answered(NOW + DAY - 1);
    expect(said).toEqual([]);
  });
});
