/** `millrace ledger stats` and `purge`, on ledgers of real runs. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ended, Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { flags, makeFolder, makeWorld, type World } from '../support/world.ts';
import { SEED } from '../support/seed.ts';

const ROWS = leads(200, 77);
const LENIENT = { 'max-errors': '100%' };

interface Stats {
  readonly ledger: string;
  readonly bytes: number;
  readonly answers: number;
  readonly reusable: number;
  readonly oldest: string;
  readonly newest: string;
  readonly entries: readonly {
    readonly origin: string;
    readonly step: string;
    readonly options: string;
    readonly answers: number;
    readonly match: number;
    readonly miss: number;
    readonly suppressed: number;
    readonly unknown: number;
    readonly failed: number;
    readonly reusable: number;
  }[];
}

async function finished(more: Record<string, string> = {}): Promise<World> {
  const world = await makeWorld(toCsv(ROWS));
  expect(await world.folder.run(world.args({ ...LENIENT, ...more }))).toMatchObject({ code: 0 });
  return world;
}

/** Without an API key, because no ledger command needs one. */
function ledger(folder: Folder, action: string, ...args: string[]): Promise<Ended> {
  return folder.run(['ledger', action, ...args], { env: { MILLRACE_API_KEY: '' } });
}

async function stats(folder: Folder, ...args: string[]): Promise<Stats> {
  const ended = await ledger(folder, 'stats', ...args);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout) as Stats;
}

/** Files of the ledger that contain the text. */
async function traces(folder: Folder, text: string): Promise<string[]> {
  const names = (await folder.files()).filter((name) => name.includes('.ledger'));
  const texts = await Promise.all(names.map(async (name) => [name, await readFile(folder.at(name))] as const));
  return texts.filter(([, bytes]) => bytes.includes(text)).map(([name]) => name);
}

describe('millrace ledger stats', () => {
  test('counts lookups by step and kind of answer, whichever way the ledger is named', async () => {
    const { folder, service } = await finished();
    const found = await stats(folder, '--ledger', 'out.csv.ledger');
    const asked = [...service.asked.keys()];
    const ofEnrich = (word: string): number =>
      asked.filter((name) => name.startsWith('enrich') && name.includes('@') && name.startsWith(word, 7)).length;
    const [byDomain, byEmail, verify] = ['by domain', 'by email', ''].map((options) =>
      found.entries.find((entry) => entry.options === options),
    );
    expect(byEmail).toMatchObject({
      origin: service.url,
      step: 'enrich',
      miss: ofEnrich('miss'),
      suppressed: ofEnrich('gone'),
      failed: ofEnrich('refused'),
      match: ofEnrich('person'),
      unknown: 0,
    });
    expect(byDomain).toMatchObject({
      step: 'enrich',
      answers: asked.filter((name) => name.startsWith('enrich') && !name.includes('@')).length,
    });
    expect(verify).toMatchObject({ step: 'verify', answers: asked.filter((name) => name.startsWith('verify')).length });
    expect(verify?.unknown).toBeGreaterThan(0);
    expect(found.answers).toBe(asked.length);
    expect(found.reusable).toBe(found.entries.reduce((sum, entry) => sum + entry.match + entry.miss + entry.suppressed, 0));
    expect(found).toMatchObject({
      ledger: expect.stringMatching(/out\.csv\.ledger$/),
      bytes: (await readFile(folder.at('out.csv.ledger'))).length,
    });
    expect(Date.parse(found.newest)).toBeGreaterThanOrEqual(Date.parse(found.oldest));

    await writeFile(
      folder.at('nightly.yaml'),
      `input: {uri: in.csv}\noutput: {uri: out.csv}\nservice: {baseUrl: "${service.url}", plan: scale}\n`,
    );
    const before = await folder.files();
    for (const args of [
      ['nightly.yaml'],
      flags({ input: 'in.csv', output: 'out.csv', 'base-url': service.url, plan: 'scale' }),
      ['nightly.yaml', '--output', 'other.csv', '--ledger', 'out.csv.ledger'],
    ])
      expect(await stats(folder, ...args)).toEqual(found);
    const byVariable = await folder.run(['ledger', 'stats'], { env: { MILLRACE_LEDGER: 'out.csv.ledger' } });
    expect(JSON.parse(byVariable.stdout)).toEqual(found);
    // No file stays behind, not even a file of SQLite.
    expect(await folder.files()).toEqual(before);
  });

  test('counts answers within the age limit as reusable', async () => {
    const { folder } = await finished({ ledger: 'shared.ledger', 'ledger.maxAgeDays': '7' });
    const all = await stats(folder, '--ledger', 'shared.ledger');
    expect(all.reusable).toBeGreaterThan(0);
    expect(await stats(folder, '--ledger', 'shared.ledger', '--ledger.maxAgeDays', '7')).toMatchObject({
      reusable: all.reusable,
      maxAgeDays: 7,
    });
  });

  test('works while a run writes to the ledger', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    service.script = (asked, _response, reply, usual) => {
      if (asked.number <= 60) reply(usual());
    };
    const running = folder.start(args({ ...LENIENT, steps: 'enrich' }));
    await service.when(() => service.answered === 60 && service.unanswered.size > 0);
    expect((await stats(folder, '--ledger', 'out.csv.ledger')).answers).toBeLessThanOrEqual(60);
    running.kill('SIGKILL');
    await running.ended;
  });
});

describe('millrace ledger purge', () => {
  test('with --email removes every answer about a person, and a later run asks for that person alone', async () => {
    const { folder, service, args } = await finished();
    const asked = [...service.asked.keys()];
    const person = asked.find((name) => name.startsWith('enrich person'))?.slice('enrich '.length) ?? '';
    expect(await traces(folder, person)).not.toEqual([]);
    const before = await stats(folder, '--ledger', 'out.csv.ledger');
    const purged = await ledger(folder, 'purge', '--ledger', 'out.csv.ledger', '--email', ` ${person.toUpperCase()} `);
    expect(purged).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(purged.stdout)).toMatchObject({ purged: 2, steps: { enrich: 1, verify: 1 } });
    for (const trace of [person, person.toUpperCase()]) expect(await traces(folder, trace)).toEqual([]);
    expect((await stats(folder, '--ledger', 'out.csv.ledger')).answers).toBe(before.answers - 2);

    service.forget();
    expect(await folder.run(args({ ...LENIENT, steps: 'enrich,verify', fresh: true }))).toMatchObject({ code: 0 });
    expect([...service.asked.keys()].filter((name) => name.startsWith('enrich') && !name.includes('refused'))).toEqual([
      `enrich ${person}`,
    ]);
    expect([...service.asked.keys()]).toContain(`verify ${person}`);
  });

  test('with --older-than removes answers by age, and a run can use the rest', async () => {
    const { folder, service, args } = await finished();
    const { answers } = await stats(folder, '--ledger', 'out.csv.ledger');
    for (const age of ['1h', '1d', '1w'])
      expect(JSON.parse((await ledger(folder, 'purge', '--ledger', 'out.csv.ledger', '--older-than', age)).stdout)).toMatchObject({
        purged: 0,
      });
    expect(JSON.parse((await ledger(folder, 'purge', '--ledger', 'out.csv.ledger', '--older-than', '0d')).stdout)).toMatchObject({
      purged: answers,
    });
    expect(await stats(folder, '--ledger', 'out.csv.ledger')).toMatchObject({ answers: 0, entries: [] });
    service.forget();
    expect(await folder.run(args({ ...LENIENT, fresh: true }))).toMatchObject({ code: 0 });
    expect(service.asked.size).toBe(answers);
  });

  test('on the ledger of a running job says so, and the run continues', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    service.script = (asked, _response, reply, usual) => {
      if (asked.number <= 60) reply(usual());
    };
    const running = folder.start(args({ ...LENIENT, steps: 'enrich' }));
    await service.when(() => service.answered === 60 && service.unanswered.size > 0);
    const purged = await ledger(
      folder,
      'purge',
      ...flags({ input: 'in.csv', output: 'out.csv', 'base-url': service.url, plan: 'scale', 'older-than': '0h' }),
    );
    expect(purged).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/the job is running \(process \d+ on .*Purge again once it has ended/),
    });
    running.kill('SIGTERM');
    // Two signals of one kind may arrive as one, and the drain would take its 25 s.
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(75);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect(await folder.run(args({ ...LENIENT, steps: 'enrich' }))).toMatchObject({ code: 0 });
  });
});

test.each(
  sampleOf(
    [
      [[], 64, /needs to know what to do: stats or purge/],
      [['purgee'], 64, /no command "ledger purgee"; did you mean purge\?/],
      [['stats'], 64, /Nothing says which ledger is meant/],
      [['stats', '--ledger', 'none.ledger'], 65, /There is no ledger .*none\.ledger/],
      [['purge', '--ledger', 'none.ledger', '--older-than', '1d'], 65, /There is no ledger/],
      [['purge', '--ledger', 'none.ledger'], 64, /Nothing says which answers to purge/],
      [['purge', '--ledger', 'none.ledger', '--older-then', '90d'], 64, /There is no flag --older-then; did you mean --older-than/],
      [
        ['purge', '--ledger', 'none.ledger', '--older-than', '90'],
        64,
        /--older-than must be a number of hours, days or weeks, such as 12h, 90d or 8w, at most 100 years, got "90"/,
      ],
      [['purge', '--ledger', 'none.ledger', '--older-than', '-1d'], 64, /--older-than/],
      [['purge', '--ledger', 'none.ledger', '--older-than', '99999w'], 64, /at most 100 years/],
      [['purge', '--ledger', 'none.ledger', '--older-than'], 64, /--older-than needs a value/],
      [['purge', '--ledger', 'none.ledger', '--email', 'nobody'], 64, /--email must be an e-mail address, got "nobody"/],
      [['purge', '--ledger', 'none.ledger', '--email', 'a@b.example', '--email', 'c@d.example'], 64, /--email is given more than once/],
      [['purge', '--ledger', 'none.ledger', '--emial', 'a@b.example', '--older-than', '1d'], 64, /no flag --emial; did you mean --email\?/],
      [['stats', '--ledger', 's3://bucket'], 64, /names no place in a bucket/],
      [['stats', '--ledger', 'redis://host/x'], 64, /no address of a Redis server/],
      [['purge', '--ledger', 'redis://:open-secret@host/0', '--older-than', '1d'], 64, /a password does not belong into a flag/],
      [['stats', '--ledger', 'ftp://host/ledger'], 64, /must be a path on this machine/],
      [['stats', '--fresh', '--ledger', 'none.ledger'], 64, /--fresh is a flag of `millrace run`/],
      [['stats', 'none.yaml'], 78, /none\.yaml/],
      [['stats', '--ledger', 'text.ledger'], 78, /text\.ledger cannot be used: .*\n  Name the job that the ledger belongs to/],
    ] as const,
    8,
  ),
)(`millrace ledger %j is refused with %i (SEED=${SEED})`, async (args, code, words) => {
  const folder = await makeFolder();
  await writeFile(join(folder.path, 'text.ledger'), 'a text of some length, and no database'.repeat(100));
  const before = await folder.files();
  expect(await folder.run(['ledger', ...args])).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(words) });
  expect(await folder.files()).toEqual(before);
});
