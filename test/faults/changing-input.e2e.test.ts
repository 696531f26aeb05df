/** An input that changes or is truncated during a run: 65 with a message, and with the input restored, the expected result. */
import { appendFile, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { durableLookups } from '../support/crash-site.ts';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { expectMended, expectWords, resultOf, undisturbed } from './mended.ts';
import { SEED } from '../support/seed.ts';

/** With such long rows, some are still unread while the first ones wait for answers. */
const FILLER = 'f'.repeat(2_500);
const ROWS = leads(300, 55).map(({ cells: [name = '', ...rest], key }) => ({ cells: [name, ...rest.slice(0, -1), FILLER], key }));
const INPUT = Buffer.from(toCsv(ROWS));
const LENIENT = { 'max-errors': '100%' };
const ENRICH = { ...LENIENT, steps: 'enrich', concurrency: '4' };
const whole = undisturbed(INPUT, ENRICH);

/** The same number of bytes with other names in the last rows, which are unread at that time. */
const EDITED = Buffer.from(INPUT.toString().replace(/Näme (?=2[6-9]\d)/g, 'Nöme '));

const LOOKUPS = new Set(ROWS.flatMap(({ key }) => key ?? [])).size;

/** Resolves when a checkpoint includes rows that were read after the change. */
async function kept(folder: Folder): Promise<void> {
  const rows = async (): Promise<number> =>
    ((await folder.json('out.csv.checkpoint.json'))['mark'] as { tally: { total: number } }).tally.total;
  while ((await rows()) < 265);
}

async function writeInPlace(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, 0);
  await file.close();
}

const CHANGES: readonly (readonly [string, (folder: Folder) => Promise<void>, RegExp])[] = [
  [
    'appended to',
    (folder) => appendFile(folder.at('in.csv'), 'New,new@works1.example,,\n'),
    /the input changed while it was read: in\.csv had \d+ bytes and has \d+ now/,
  ],
  ['cut', (folder) => truncate(folder.at('in.csv'), 300_000), /The input in\.csv became shorter while it was read: it ends at byte 300000/],
  [
    'edited in place',
    (folder) => writeInPlace(folder.at('in.csv'), EDITED),
    /the input changed while it was read: in\.csv has the same size but other content than before/,
  ],
  [
    'replaced by another file',
    async (folder) => {
      await writeFile(folder.at('new.csv'), EDITED);
      await rename(folder.at('new.csv'), folder.at('in.csv'));
    },
    /the input changed while it was read: in\.csv has the same size but other content than before/,
  ],
  ['removed', (folder) => rm(folder.at('in.csv')), /the input changed while it was read: in\.csv is no longer there/],
];

describe(`input (SEED=${SEED})`, () => {
  test.each(sampleOf(CHANGES, 2))(
    'input %s during a run is 65; restored, the same command gives the result of an unchanged input',
    async (_, change, words) => {
      expect(EDITED.length).toBe(INPUT.length);
      expect(EDITED.equals(INPUT)).toBe(false);
      const world = await makeWorld(INPUT);
      const { folder, service } = world;
      const args = world.args(ENRICH);
      service.script = ({ number }, _response, reply, usual) => {
        if (number < 40) reply(usual());
        else if (number < LOOKUPS - 5) void changed.then(() => reply(usual()));
        else void kept(folder).then(() => reply(usual()));
      };
      const run = folder.start(args);
      const changed = service.sees(40).then(() => change(folder));
      const ended = await run.ended;
      expect(ended.code).toBe(65);
      expectWords(ended, words);
      expect(await folder.files()).not.toContain('out.csv');
      expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
      await writeFile(folder.at('in.csv'), INPUT);
      await expectMended(world, await whole(), { args });
    },
  );

  test.each(
    sampleOf(
      CHANGES.filter(([what]) => ['appended to', 'edited in place'].includes(what)),
      1,
    ),
  )('%s, and stays so: --fresh takes it as it is now, and pays for what is new', async (_, change) => {
    const { folder, service, args } = await makeWorld(INPUT);
    service.script = (asked, _response, reply, usual) => {
      if (asked.number < 40) reply(usual());
      else void changed.then(() => reply(usual()));
    };
    const run = folder.start(args(ENRICH));
    const changed = service.sees(40).then(() => change(folder));
    expect((await run.ended).code).toBe(65);
    const durable = await durableLookups(folder.at('out.csv.ledger'));
    service.forget();
    expect(await folder.run(args(ENRICH))).toMatchObject({ code: 65, stderr: expect.stringMatching(/--fresh/) });
    expect((await folder.run(args({ ...ENRICH, fresh: true }))).code).toBe(0);
    expect([...service.asked.keys()].filter((name) => durable.has(name) && !name.includes('refused'))).toEqual([]);
    const fresh = await makeWorld(await readFile(folder.at('in.csv')));
    expect((await fresh.folder.run(fresh.args(ENRICH))).code).toBe(0);
    expect(await folder.read('out.csv')).toBe(await fresh.folder.read('out.csv'));
  });
});

test.each(
  sampleOf(
    [
      ['cut', (folder: Folder) => truncate(folder.at('in.csv'), 200_000)],
      ['edited in place', (folder: Folder) => writeInPlace(folder.at('in.csv'), EDITED)],
    ] as const,
    1,
  ),
)('an input that is %s after the job was finished: a new run, the result of that input, and nothing is paid twice', async (_, change) => {
  const { folder, service, args } = await makeWorld(INPUT);
  expect((await folder.run(args(ENRICH))).code).toBe(0);
  await change(folder);
  service.forget();
  expect((await folder.run(args(ENRICH))).code).toBe(0);
  expect([...service.asked.keys()].filter((name) => !name.includes('refused'))).toEqual([]);
  const fresh = await makeWorld(await readFile(folder.at('in.csv')));
  expect((await fresh.folder.run(fresh.args(ENRICH))).code).toBe(0);
  expect(await folder.read('out.csv')).toBe(await fresh.folder.read('out.csv'));
});

describe('a truncated archive', () => {
  const members = (compress: (bytes: Buffer) => Buffer): Buffer =>
    Buffer.concat([0, 1, 2, 3].map((i) => compress(INPUT.subarray((i * INPUT.length) / 4, ((i + 1) * INPUT.length) / 4))));
  const ARCHIVES: readonly (readonly [string, string, Buffer])[] = [
    ['gzip of one member', 'in.csv.gz', gzipSync(INPUT, { level: 0 })],
    ['gzip of four', 'in.csv.gz', members((bytes) => gzipSync(bytes, { level: 0 }))],
    ['zstd of one frame', 'in.csv.zst', zstdCompressSync(INPUT)],
    ['zstd of four', 'in.csv.zst', members(zstdCompressSync)],
  ];

  test.each(sampleOf(ARCHIVES, 2))(
    '%s is 65 and names the byte; complete again and with --fresh, it gives the expected result and pays each lookup once',
    async (_, name, archive) => {
      const { folder, service, args } = await makeWorld();
      const more = { ...ENRICH, input: name };
      const cut = archive.length - 20;
      await writeFile(folder.at(name), archive.subarray(0, cut));
      const ended = await folder.run(args(more));
      expect(ended.code).toBe(65);
      expectWords(ended, new RegExp(`The archive ${name} is cut off: it ends at byte ${cut} `));
      await writeFile(folder.at(name), archive);
      expect(await folder.run(args(more))).toMatchObject({
        code: 65,
        stderr: expect.stringMatching(/had \d+ bytes and has \d+ now[^]*--fresh/),
      });
      expect((await folder.run(args({ ...more, fresh: true }))).code).toBe(0);
      expect([...service.asked].filter(([key, times]) => times > 1 && !key.includes('refused'))).toEqual([]);
      const result = await resultOf(folder);
      const wanted = await whole();
      expect(result.bytes.equals(wanted.bytes)).toBe(true);
      expect(result.records).toEqual(wanted.records);
    },
  );
});

test('an input that changes during a run is 65, leaves the state stopped, and publishes no output', async () => {
  const { folder, service, args } = await makeWorld(toCsv(leads(100, 30)));
  service.script = () => undefined;
  const run = folder.start(args());
  await service.sees(1);
  const original = await readFile(folder.at('in.csv'), 'utf8');
  await writeFile(folder.at('in.csv'), original.replaceAll('Näme 1', 'Nyme 1'));
  run.kill('SIGTERM');
  run.kill('SIGINT');
  await run.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args())).code).toBe(65);

  await rm(folder.at('out.csv.checkpoint.json'));
  await rm(folder.at('out.csv.partial'));
  await rm(folder.at('out.csv.errors.jsonl.partial'), { force: true });
  service.forget();
  service.script = (asked, _response, reply, usual) => {
    if (asked.path === 'enrich') return reply(usual());
    // All rows are read by now, and none is finished, because the verdicts are missing.
    void writeFile(folder.at('in.csv'), original.replaceAll('Näme 2', 'Nyme 2')).then(() => reply(usual()));
  };
  expect(await folder.run(args())).toMatchObject({ code: 65, stderr: expect.stringMatching(/the input changed while it was read/) });
  expect((await folder.json('out.csv.checkpoint.json'))['state']).toBe('stopped');
  expect(await folder.files()).not.toContain('out.csv');
});
