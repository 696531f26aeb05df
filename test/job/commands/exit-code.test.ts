import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { finishedExitCode } from '../../../src/job/commands/exit-code.ts';
import { compiled, LEAST } from '../../definition/support.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';

describe('the exit code of a finished run', () => {
  const n = fc.nat({ max: 10_000 });
  const tally = (total: number, failed: number) => ({ ...EMPTY_TALLY, total, outcomes: { ...EMPTY_TALLY.outcomes, failed } });
  const code = (maxErrors: CompiledJob['limits']['maxErrors'], total: number, failed: number): number =>
    finishedExitCode({ limits: { maxErrors } as CompiledJob['limits'] }, tally(total, failed));

  it('becomes 1 when more records failed than the count allows', () => {
    fc.assert(fc.property(n, n, (allowed, failed) => code({ count: allowed }, 20_000, failed) === (failed > allowed ? 1 : 0)));
  });

  it('becomes 1 when a larger share of all records failed than is allowed', () => {
    expect([
      code({ share: 0.05 }, 100, 5),
      code({ share: 0.05 }, 100, 6),
      code({ share: 0 }, 100, 1),
      code({ share: 1 }, 100, 100),
    ]).toEqual([0, 1, 1, 0]);
  });

  it('stays 0 when exactly the allowed share failed, with any number of decimals, and 1 with one failure more', () => {
    const decimals = fc.constantFrom(0, 1, 2, 3);
    fc.assert(
      fc.property(decimals, fc.nat(), fc.integer({ min: 1, max: 1_000 }), (places, seed, times) => {
        const hundred = 100 * 10 ** places;
        const part = seed % hundred;
        const { limits } = compiled({ flags: { ...LEAST, 'max-errors': `${(part / 10 ** places).toFixed(places)}%` } });
        expect([0, 1].map((more) => code(limits.maxErrors, hundred * times, part * times + more))).toEqual([0, 1]);
      }),
    );
  });

  it('stays 0 when no record failed, also for an empty input', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.record({ count: n }), fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }) })),
        n,
        (maxErrors, total) => code(maxErrors, total, 0) === 0,
      ),
    );
  });
});
