/** A clock that is set by hours during a run: nothing is lost, repeated, delayed or taken over. */
import { execFileSync } from 'node:child_process';
import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ensurePackage } from '../services/debian.ts';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { expectMended, resultOf, undisturbed } from './mended.ts';
import { logOf } from './people.ts';

const ROWS = leads(150, 54);
const LENIENT = { 'max-errors': '100%', progress: 'log' };
const whole = undisturbed(toCsv(ROWS), { 'max-errors': '100%' });

/** libfaketime reads the offset from a file at each call; monotonic clocks stay true. */
function settableClock(folder: Folder): { env: Record<string, string>; set: (offset: string) => Promise<void> } {
  const path = folder.at('clock');
  return {
    env: { LD_PRELOAD: library(), FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    // Replaced by a rename, so that no reader sees half an offset.
    set: async (offset) => {
      await writeFile(`${path}.new`, offset);
      await rename(`${path}.new`, path);
    },
  };
}

/** The library that the command preloads. Started through `faketime`, the run would not get its signals. */
function library(): string {
  return execFileSync('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' }).trim();
}

describe.skipIf(!ensurePackage('faketime'))('a clock that is set', () => {
  test.each(sampleOf(['+6h', '-400d'], 1))(
    'a change by %s and back during a run changes no result, and nothing is asked for twice',
    async (jump) => {
      const { folder, service, args } = await makeWorld(toCsv(ROWS));
      const clock = settableClock(folder);
      await clock.set('+0');
      // No request is answered while the clock is set, so that the run is in its middle each time.
      let set = Promise.resolve();
      const offsets = [jump, '+0', jump];
      service.script = ({ number }, _response, reply, usual) => {
        const offset = number % 30 === 0 ? offsets.shift() : undefined;
        // In sequence: two concurrent writers would replace each other's file.
        if (offset !== undefined) set = set.then(() => clock.set(offset));
        void set.then(() => reply(usual()));
      };
      const { code, stderr } = await folder.run(args(LENIENT), { env: clock.env });
      expect(offsets).toEqual([]);
      expect(code).toBe(0);
      expect(await resultOf(folder)).toEqual(await whole());
      expect(service.repeated).toBe(0);
      const finished = logOf(stderr).at(-1) as { event: string; time: string };
      // The run did use that clock: its last line is hours away.
      expect(finished.event).toBe('finished');
      expect(Math.abs(Date.parse(finished.time) - Date.now())).toBeGreaterThan(5 * 3_600_000);
      expect(logOf(stderr).map(({ event }) => event)).toEqual(['started', 'column', 'column', 'finished']);
    },
  );

  test.each(sampleOf(['+400d', '-6h'], 1))(
    'a change by %s between a SIGKILL and the next run repeats nothing durable, although the ledger has another time',
    async (jump) => {
      const world = await makeWorld(toCsv(ROWS));
      const { folder, service } = world;
      const clock = settableClock(folder);
      await clock.set('+0');
      service.latencyMs = 3;
      const args = world.args({ 'max-errors': '100%', ledger: 'lg', 'ledger.maxAgeDays': '30' });
      const run = folder.start(args, { env: clock.env });
      await service.sees(75);
      run.kill('SIGKILL');
      await run.ended;
      await clock.set(jump);
      await expectMended(world, await whole(), { args, ledger: 'lg', options: { env: clock.env } });
    },
  );

  test.each(sampleOf(['+6h', '-6h'], 1))('a change by %s under a live run does not take its job away: a second run waits', async (jump) => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const clock = settableClock(folder);
    await clock.set('+0');
    service.script = ({ number }, _response, reply, usual) => {
      if (number <= 50) reply(usual());
    };
    const first = folder.start(args(LENIENT), { env: clock.env });
    await service.when(() => service.answered === 50 && service.unanswered.size > 0);
    await clock.set(jump);
    const second = folder.start(args(LENIENT), { env: clock.env });
    await second.says('"job_held"');
    // Longer than the interval at which the lock is read.
    await pause(1_500);
    second.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 75, stderr: expect.stringContaining(`process ${first.child.pid} `) });
    const status = await folder.run(['status', '--input', 'in.csv', '--output', 'out.csv', '--embedded'], { env: clock.env });
    expect(status.stdout).toContain('running by process');
    service.script = (_asked, _response, reply, usual) => reply(usual());
    first.kill('SIGTERM');
    first.kill('SIGINT');
    expect((await first.ended).code).toBe(75);
  });
});
