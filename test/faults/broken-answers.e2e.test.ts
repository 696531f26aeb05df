/** One answer in five is broken, in each way and in all ways: the result of an intact service, in bounded memory. */
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { leads, seeded, toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import type { Asked, Reply } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { addsUp } from './adds-up.ts';
import { undisturbed } from './mended.ts';
import { SEED } from '../support/seed.ts';

type Break = (response: ServerResponse, asked: Asked, usual: () => Reply) => void;

const MIB = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const results = (usual: () => Reply): Record<string, unknown>[] =>
  (JSON.parse(String(usual().body)) as { data: Record<string, unknown>[] }).data;
const others = (asked: Asked): boolean => asked.path !== 'verify';

/** Broken answers of verify. Answers of enrich stay intact. */
const listed =
  (change: (data: Record<string, unknown>[]) => unknown[]): Break =>
  (response, asked, usual) => {
    if (others(asked)) void response.writeHead(usual().status, { ...json, 'x-credits-charged': '0' }).end(usual().body);
    else void response.writeHead(200, json).end(JSON.stringify({ data: change(results(usual)) }));
  };

function endless(response: ServerResponse): void {
  response.on('error', () => undefined);
  response.writeHead(200, json);
  const chunk = Buffer.alloc(MIB, 0x20);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
}

const WAYS: Readonly<Record<string, Break>> = {
  'a reset': (response) => void response.socket?.resetAndDestroy(),
  'a connection that is closed': (response) => void response.destroy(),
  'nothing for ever': () => undefined,
  'half a body, then a cut': (response) => {
    response.writeHead(200, { ...json, 'content-length': '5000' }).write('{"email":"half');
    setImmediate(() => response.destroy());
  },
  'half a body, then nothing': (response) => void response.writeHead(200, json).write('{"email":"half'),
  'no JSON': (response) => void response.writeHead(200, json).end('{"email": not json'),
  'JSON of another kind': (response) => void response.writeHead(200, json).end('"ok"'),
  'an empty body': (response) => void response.writeHead(200, json).end(),
  'a page, and it is fine': (response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>a captive portal</html>'),
  'the answer as another content type': (response, _asked, usual) =>
    void response.writeHead(usual().status, { 'content-type': 'text/plain' }).end(usual().body),
  'an error page': (response) => void response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>oops</h1>'),
  'a gateway that gives up': (response) => void response.writeHead(502).end(),
  later: (response) => void response.writeHead(429, { 'retry-after': '0' }).end(),
  'a redirect': (response) => void response.writeHead(302, { location: 'https://elsewhere.example/login' }).end(),
  'a permanent redirect': (response) => void response.writeHead(308, { location: '/v2/elsewhere' }).end('{"moved":true}'),
  'a body without end': endless,
  'results that are missing': listed((data) => data.filter((_, i) => i % 3 !== 0)),
  'results that come twice': listed((data) => [...data, ...data.map((entry) => ({ ...entry, result: 'risky', confidence: 1 }))]),
  'results of others, in another order': listed((data) => [
    { email: 'stranger@elsewhere.example', result: 'risky', confidence: 3 },
    ...data.toReversed(),
    null,
    7,
  ]),
};

const ROWS = leads(130, 21);
const FLAGS = { 'max-errors': '100%', 'timeout-ms': '1500' };
const whole = undisturbed(toCsv(ROWS), FLAGS);

/** Reports the process's own peak memory at its end. */
const PEAK = fileURLToPath(new URL('../support/peak-memory.ts', import.meta.url));
/** MiB: the peak with intact answers, and the permitted addition for 64 MiB of answers. */
const MOST_MIB = 420;

async function run(ways: readonly Break[]): Promise<void> {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  const random = seeded(4);
  const broken = new Map<string, number>();
  let next = 0;
  service.script = (asked, response, reply, usual) => {
    const key = others(asked) ? (asked.keys[0] ?? '') : 'verify';
    const times = broken.get(key) ?? 0;
    // At most two of five attempts break, so that each lookup can succeed. For verify, which has few requests, only the first breaks.
    if (times >= (others(asked) ? 2 : 1) || (random() >= 0.2 && others(asked))) return reply(usual());
    broken.set(key, times + 1);
    return ways[next++ % ways.length]?.(response, asked, usual);
  };
  const ended = await folder.run(args(FLAGS), { env: { NODE_OPTIONS: `--import=${PEAK}`, PEAK_FILE: folder.at('peak') } });
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(?:warning: .*\n)*$/) as string });
  expect(next).toBeGreaterThan(15);
  const found = await addsUp(folder, ROWS.length);
  expect(found.calls).toEqual(service.callsMade);
  const expected = await whole();
  expect((await readFile(folder.at('out.csv'))).equals(expected.bytes)).toBe(true);
  expect(found.records).toEqual(expected.records);
  expect(Number(await folder.read('peak')) / 1024).toBeLessThan(MOST_MIB);
}

test.each(sampleOf(Object.entries(WAYS), 2))(
  `%s: every record finds its outcome, and the numbers add up (SEED=${SEED})`,
  async (_, way) => {
    await run([way]);
  },
);

test('all ways in turn', async () => {
  await run(Object.values(WAYS));
});
