/** A folder that disappears during a run, and a process that may open few files. */
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Ended, Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';
import { expectMended, expectWords, undisturbed } from './mended.ts';

const ROWS = leads(300, 53);
const LENIENT = { 'max-errors': '100%' };
const IN_FOLDER = { ...LENIENT, output: 'o/out.csv', concurrency: '8' };
const whole = undisturbed(toCsv(ROWS), LENIENT);

/** Permissions do not bind root. Without its capabilities (capabilities(7)) root is an ordinary user. */
const bound = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

/** The end of a run into the folder `o` after `change`, which happens between its first answers and the rest. */
async function endedBy(change: (folder: Folder) => Promise<unknown>): Promise<World & { ended: Ended; args: () => string[] }> {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service } = world;
  await mkdir(folder.at('o'));
  const args = world.args(IN_FOLDER);
  const changed = service.when(() => service.answered === 120).then(() => change(folder));
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= 120) reply(usual());
    else void changed.then(() => reply(usual()));
  };
  const run = folder.start(args, { through: bound });
  await changed;
  return { ...world, args: () => args, ended: await run.ended };
}

describe("the output's folder", () => {
  test('made read-only during a run is 74; writable again, the same command finishes', async () => {
    const { ended, ...world } = await endedBy((folder) => chmod(folder.at('o'), 0o500));
    await chmod(world.folder.at('o'), 0o700);
    expect(ended.code).toBe(74);
    expectWords(ended, /o\/out\.csv\S* could not be .*: EACCES[^\n]*\n {2}Permit writing there/);
    await expectMended(world, await whole(), { args: world.args(), output: 'o/out.csv' });
  });

  test('read-only from the start is 74 without a call; a finished job does not need to write there', async () => {
    const world = await makeWorld(toCsv(ROWS));
    await mkdir(world.folder.at('o'), { mode: 0o500 });
    const args = world.args(IN_FOLDER);
    const ended = await world.folder.run(args, { through: bound });
    expect(ended.code).toBe(74);
    expectWords(ended, /o\/out\.csv\S* could not be written: EACCES[^\n]*\n {2}Permit writing there/);
    expect(world.service.requests).toEqual([]);
    await chmod(world.folder.at('o'), 0o700);
    await expectMended(world, await whole(), { args, output: 'o/out.csv' });
    await chmod(world.folder.at('o'), 0o500);
    world.service.forget();
    const again = await world.folder.run(args, { through: bound });
    const fresh = await world.folder.run([...args, '--fresh'], { through: bound });
    await chmod(world.folder.at('o'), 0o700);
    expect([again.code, fresh.code, world.service.requests]).toEqual([0, 74, []]);
  });

  test('read-only is no obstacle to a plan and to the figures of a ledger in it, which leave nothing there', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder } = world;
    const kept = { ledger: 'o/kept.ledger', 'ledger.maxAgeDays': '30', steps: 'enrich', limit: '20' };
    await mkdir(folder.at('o'));
    expect((await folder.run(world.args({ ...LENIENT, ...kept }))).code).toBe(0);
    const there = await readdir(folder.at('o'));
    await chmod(folder.at('o'), 0o500);
    const [, ...given] = world.args({ ...kept, output: 'second.csv', progress: false });
    const plan = await folder.run(['plan', ...given, '--json'], { through: bound });
    const stats = await folder.run(['ledger', 'stats', '--ledger', 'o/kept.ledger', '--json'], { through: bound });
    await chmod(folder.at('o'), 0o700);
    expect(JSON.parse(plan.stdout)).toMatchObject({ lookups: { fromLedger: expect.toSatisfy((found: number) => found > 0) as number } });
    expect([plan.code, stats.code, await readdir(folder.at('o'))]).toEqual([0, 0, there]);
  });

  test('moved away during a run is 74; moved back, the same command continues', async () => {
    const { ended, ...world } = await endedBy((folder) => rename(folder.at('o'), folder.at('elsewhere')));
    expect(ended.code).toBe(74);
    expectWords(ended, /o\/out\.csv\S* could not be .*: ENOENT[^\n]*\n {2}Put the folder back/);
    await rename(world.folder.at('elsewhere'), world.folder.at('o'));
    await expectMended(world, await whole(), { args: world.args(), output: 'o/out.csv' });
  });

  test('removed during a run with all paid answers is 74, and the same command starts again', async () => {
    const { ended, ...world } = await endedBy(async (folder) => {
      // Renamed first, in one step: files that the run writes meanwhile would keep the folder, or vanish in another order.
      await rename(folder.at('o'), folder.at('removed'));
      await rm(folder.at('removed'), { recursive: true });
    });
    expect(ended.code).toBe(74);
    expectWords(ended, /o\/out\.csv\S* could not be .*: ENOENT/);
    await expectMended(world, await whole(), { args: world.args(), output: 'o/out.csv' });
  });

  test('emptied during a run is 75, because another run may hold the job now; the same command starts again', async () => {
    const { ended, ...world } = await endedBy(async (folder) => {
      // The lock first: a run that misses another file checks whether it still holds the job.
      await rm(folder.at('o', 'out.csv.checkpoint.json.lock'));
      // A temporary file may have been renamed meanwhile.
      for (const name of await readdir(folder.at('o'))) await rm(folder.at('o', name), { force: true });
    });
    expect(ended.code).toBe(75);
    expectWords(ended, /its lock file is gone\n {2}Whatever removed it, run the same command/);
    await expectMended(world, await whole(), { args: world.args(), output: 'o/out.csv' });
  });
});

describe('a limit of open files', () => {
  const limit = (files: number): string[] => ['bash', '-c', `ulimit -n ${files}; exec "$0" "$@"`];

  test.each([
    ['200', 4],
    ['auto', null],
  ])(
    'below the need of concurrency %s gives fewer calls at once, all answered, and never replaces a configured number silently',
    async (concurrency, warnings) => {
      const world = await makeWorld(toCsv(ROWS));
      const { folder, service } = world;
      let most = 0;
      service.latencyMs = 5;
      service.script = (_asked, _response, reply, usual) => {
        most = Math.max(most, service.unanswered.size);
        reply(usual());
      };
      const args = world.args({ ...LENIENT, steps: 'enrich', concurrency, progress: 'log', 'log-level': 'warn' });
      const ended = await folder.run(args, { through: limit(64) });
      expect(ended.code).toBe(0);
      expect(most).toBeGreaterThan(4);
      expect(most).toBeLessThan(48);
      if (warnings === null) expect(ended.stderr).toBe('');
      else
        expect(ended.stderr).toMatch(
          /"event":"few_files".*calls at once: \d+ at most, because the process may not open more files \(ulimit -n\)/,
        );
    },
  );

  test('too low for any run is 74 and names the limit wherever it is reached; with a higher one the same command finishes', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const args = world.args(LENIENT);
    let met = 0;
    for (let files = 24; ; files += 7) {
      const ended = await world.folder.run(args, { through: limit(files) });
      if (ended.code === 0) break;
      // Before all modules are loaded, no code of Millrace can report it.
      if (!ended.stderr.startsWith('millrace: ') || /node:internal/.test(ended.stderr)) continue;
      met++;
      expect([files, ended.code, ended.stderr]).toEqual([files, 74, expect.stringMatching(/\(ulimit -n\)|unable to open database file/)]);
      expectWords(ended, /out\.csv|this process/);
    }
    expect(met).toBeGreaterThan(0);
    await expectMended(world, await whole(), { args });
  });
});
