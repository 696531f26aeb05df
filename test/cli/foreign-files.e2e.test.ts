/** Files that belong to another job or to the user. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { filesOf, finished, LENIENT, ROWS } from './job-states.ts';

describe('a run', () => {
  test.each(
    sampleOf(
      ['out.csv', 'out.csv.partial', 'out.csv.errors.jsonl', 'out.csv.errors.jsonl.partial', 'out.csv.report.json', 'out.csv.report.html'],
      2,
    ),
  )('refuses an existing %s without a checkpoint, and leaves it unchanged', async (name) => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    await writeFile(folder.at(name), 'precious');
    const refused = await folder.run(args());
    expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining(`${name} exists, and there is no checkpoint`) });
    expect(await folder.run(args({ fresh: true }))).toMatchObject({ code: 65 });
    expect(await folder.files()).toEqual(['in.csv', name].sort());
    expect(await folder.read(name)).toBe('precious');
    expect(service.requests).toEqual([]);
  });

  test.each(
    sampleOf(
      [
        ['another job', { name: 'other', output: 'other.csv' }, 65, /belongs to the job "out" with the output .*out\.csv/],
        ['this job under another name', { name: 'other' }, 78, /name was "out" and is now "other"/],
        [
          'another job to the same output, which would start over',
          { name: 'other', fresh: true },
          65,
          /out\.csv belongs to the job "out", and this one is called "other"/,
        ],
        ['this job with another output', { output: 'other.csv', name: 'out' }, 78, /output\.uri was .*out\.csv and is now .*other\.csv/],
      ] as const,
      2,
    ),
  )('refuses the checkpoint of %s, and changes no file', async (_, more, code, words) => {
    const { folder, service, args } = await finished();
    const before = await filesOf(folder);
    const refused = await folder.run(args({ ...LENIENT, checkpoint: 'out.csv.checkpoint.json', ...more }));
    expect(refused).toMatchObject({ code, stderr: expect.stringMatching(words) });
    expect(await filesOf(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('knows its job by other spellings of the same paths, and so do status and plan', async () => {
    const { folder, service, args } = await finished();
    const before = await filesOf(folder);
    const same = [
      { output: './out.csv' },
      { output: folder.at('out.csv'), input: folder.at('in.csv'), ledger: `${folder.path}/./out.csv.ledger` },
      { input: './in.csv' },
    ];
    for (const more of same) expect(await folder.run(args({ ...LENIENT, ...more }))).toMatchObject({ code: 0 });
    // Both commands accept the flags of the run.
    const line = args({
      ...LENIENT,
      output: './out.csv',
      concurrency: '4',
      progress: 'log',
      'log-level': 'warn',
      monitor: '0',
      scratch: '.',
    }).slice(1);
    expect(JSON.parse((await folder.run(['plan', ...line, '--json'])).stdout)).toMatchObject({ start: 'finished', requests: { total: 0 } });
    expect(JSON.parse((await folder.run(['status', ...line, '--json', '--fresh', '--shard', '0/4'])).stdout)).toMatchObject({
      state: 'finished',
    });
    expect(JSON.parse((await folder.run(['plan', ...line, '--json', '--fresh'])).stdout)).toMatchObject({
      start: 'new',
      records: ROWS.length,
    });
    expect(await filesOf(folder)).toEqual(before);
    expect(service.requests).toEqual([]);
  });

  test('refuses another output that exists, also with --fresh', async () => {
    const { folder, args } = await finished();
    await writeFile(folder.at('other.csv'), 'precious');
    const refused = await folder.run(
      args({ ...LENIENT, checkpoint: 'out.csv.checkpoint.json', name: 'out', output: 'other.csv', fresh: true }),
    );
    expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining('other.csv exists') });
    expect(await folder.read('other.csv')).toBe('precious');
  });

  test('leaves the temporary files of another job that is writing to the same output', async () => {
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    const held: (() => void)[] = [];
    service.script = (_asked, _response, reply, usual) => void held.push(() => reply(usual()));
    const first = folder.start(args(LENIENT));
    await service.sees(1);
    const inHand = 'out.csv.report.json.0badcafe.tmp';
    await writeFile(folder.at(inHand), 'about to be put in place');
    const second = await folder.run(args({ ...LENIENT, name: 'second', checkpoint: 'second.json' }));
    expect(second).toMatchObject({ code: 65, stderr: expect.stringContaining('out.csv.partial exists') });
    expect(await folder.read(inHand)).toBe('about to be put in place');
    service.script = (_asked, _response, reply, usual) => reply(usual());
    for (const answer of held) answer();
    expect((await first.ended).code).toBe(0);
  });

  test('refuses a damaged checkpoint and leaves it unchanged, and so do plan and status', async () => {
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 5)));
    const words = { code: 65, stderr: expect.stringMatching(/out\.csv\.checkpoint\.json is (not a checkpoint of Millrace|damaged)/) };
    for (const text of sampleOf(['', '{"version":1', '{"version":2,"job":"out"}', '\0\0\0\0'], 2)) {
      await writeFile(folder.at('out.csv.checkpoint.json'), text);
      expect(await folder.run(args())).toMatchObject(words);
      expect(await folder.read('out.csv.checkpoint.json')).toBe(text);
    }
    for (const command of ['plan', 'status'])
      expect(await folder.run([command, '--input', 'in.csv', '--output', 'out.csv', '--embedded'])).toMatchObject(words);
  });
});
