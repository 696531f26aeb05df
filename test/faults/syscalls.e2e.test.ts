/** A disk that fails one call at any moment of a run: 74 with a message, and the same command finishes once the disk works. */
import { describe, expect, test } from 'vitest';
import { ensurePackage } from '../services/debian.ts';
import { leads, seeded, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';
import { runWithFault, type Fault } from './injected.ts';
import { expectMended, expectWords, resultOf, undisturbed } from './mended.ts';
import { SEED } from '../support/seed.ts';

/** `FAULT_SWEEP=1` tries every call instead of a few (20 minutes on an idle machine). */
const SWEEP = (process.env['FAULT_SWEEP'] ?? '') !== '';

const FEW = 6;

interface Kind {
  readonly call: string;
  readonly error: string;
  /** The highest number of a call that is tried. */
  readonly upTo: number;
  /** True when the failure always ends the run, except in SQLite, which has alternatives for some calls. */
  readonly fatal: boolean;
}

const KINDS: readonly Kind[] = [
  { call: 'fdatasync', error: 'EIO', upTo: 14, fatal: true },
  { call: 'fsync', error: 'EIO', upTo: 12, fatal: true },
  { call: 'pwrite64', error: 'ENOSPC', upTo: 14, fatal: true },
  { call: 'pwrite64', error: 'EIO', upTo: 14, fatal: true },
  { call: 'write', error: 'ENOSPC', upTo: 8, fatal: true },
  { call: 'rename', error: 'EIO', upTo: 10, fatal: true },
  { call: 'openat', error: 'EMFILE', upTo: 24, fatal: true },
  { call: 'pread64', error: 'EIO', upTo: 8, fatal: true },
  // A file that may not be read, or is only cleaned up, need not end a run.
  { call: 'openat', error: 'EACCES', upTo: 24, fatal: false },
  { call: 'ftruncate', error: 'EIO', upTo: 3, fatal: false },
  { call: 'unlink', error: 'EIO', upTo: 8, fatal: false },
  { call: 'link', error: 'ENOSPC', upTo: 1, fatal: true },
];

const ROWS = leads(300, 52);
const LENIENT = { 'max-errors': '100%' };
const whole = undisturbed(toCsv(ROWS), LENIENT);

interface Case extends Fault {
  readonly fatal: boolean;
  readonly resumed: boolean;
}

function cases(): Case[] {
  if (SWEEP)
    return KINDS.flatMap(({ upTo, ...kind }) =>
      [false, true].flatMap((resumed) => Array.from({ length: upTo }, (_, i) => ({ ...kind, nth: i + 1, resumed }))),
    );
  const random = seeded(SEED);
  const all = KINDS.map(({ upTo, ...kind }) => ({
    ...kind,
    nth: 1 + Math.floor(random() * upTo),
    resumed: random() < 0.5,
    order: random(),
  }));
  return all.sort((one, other) => one.order - other.order).slice(0, FEW);
}

describe.skipIf(!ensurePackage('strace'))(`a call to the disk that fails (SEED=${SEED})`, () => {
  test.each(cases())('$call with $error, time $nth (resumed: $resumed)', async ({ fatal, resumed, ...fault }) => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service } = world;
    const args = world.args(LENIENT);
    if (resumed) {
      service.latencyMs = 3;
      const first = folder.start(args);
      await service.sees(100);
      first.kill('SIGTERM');
      expect((await first.ended).code).toBe(75);
      service.latencyMs = 0;
    }
    const ended = await runWithFault(folder, args, fault);
    const { met } = ended;
    if (fatal && met.others > 0) expect({ met, code: ended.code }).toEqual({ met, code: 74 });
    if (ended.code === 0) {
      expect(ended.stderr).toBe('');
      expect(await resultOf(folder)).toEqual(await whole());
      return;
    }
    expect(met.ledger + met.others).toBeGreaterThan(0);
    expect(ended.code).toBe(fault.error === 'EACCES' && ended.stderr.includes('in.csv may not be read') ? 65 : 74);
    // Also files sought beside the output, such as copies of standard input from earlier runs.
    expectWords(ended, new RegExp(`${folder.path}/(?:out\\.csv|\\.millrace-stdin-)|in\\.csv`));
    await expectMended(world, await whole(), { args });
  });
});
