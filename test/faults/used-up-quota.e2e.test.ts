/** A quota that is used up for a minute, or for the rest of the day. */
import { expect, test } from 'vitest';
import { problem } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { expectAllFound, logOf, people } from './people.ts';

const DAY = 30;

interface Wait {
  readonly at: string;
  readonly ms: number;
  readonly reason: string;
  readonly what: string;
}

test('a used-up day of 30 without Retry-After is one 429 at most, then 69 with its end; a resume before that sends none', async () => {
  const { folder, service, args } = await makeWorld(people(60));
  const endsAt = Date.now() + 4_000_000;
  let taken = 0;
  let refused = 0;
  service.script = (_asked, _response, reply, answer) => {
    const ok = taken < DAY;
    if (ok) taken++;
    else refused++;
    const headers = {
      'x-ratelimit-limit': String(DAY),
      'x-ratelimit-remaining': String(DAY - taken),
      'x-ratelimit-reset': String(Math.ceil((endsAt - Date.now()) / 1_000)),
    };
    reply({ ...(ok ? answer() : problem(429, 'rate_limited')), headers });
  };
  const ended = await folder.run(args({ steps: 'enrich', progress: 'log' }));
  const when = String.raw`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
  expect(ended).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(
      new RegExp(`the quota of 30 requests a day is used up until ${when}: \\d+ s from now, longer than limits\\.maxWaitMs`),
    ),
  });
  expect([taken, refused <= 1]).toEqual([DAY, true]);
  const stopped = logOf(ended.stderr).find(({ event }) => event === 'stopped') as unknown as { quota: { goesOnAt: string } };
  expect(Math.abs(Date.parse(stopped.quota.goesOnAt) - endsAt)).toBeLessThan(5_000);

  const status = await folder.run(['status', ...args({ steps: 'enrich' }).slice(1)]);
  expect(status.stdout).toMatch(/stopped, the service lets it go on at /);

  const before = service.requests.length;
  const again = await folder.run(args({ steps: 'enrich', progress: 'log' }));
  expect(again).toMatchObject({ code: 69, stderr: expect.stringMatching(new RegExp(`is used up until ${when}`)) });
  expect(service.requests.length).toBe(before);
});

test('while nothing is sent for five seconds, the log and the progress line name the wait, and the report has it', async () => {
  const { folder, service, args } = await makeWorld(people(40));
  let endsAt = Infinity;
  let left = 20;
  service.script = (_asked, _response, reply, answer) => {
    if (endsAt === Infinity) endsAt = Date.now() + 11_500;
    if (Date.now() >= endsAt) [endsAt, left] = [Date.now() + 60_000, 1_000];
    left--;
    reply({
      ...answer(),
      headers: {
        'x-ratelimit-limit': '1000',
        'x-ratelimit-remaining': String(Math.max(0, left)),
        'x-ratelimit-reset': String(Math.ceil((endsAt - Date.now()) / 1_000)),
      },
    });
  };
  const ended = await folder.run(args({ steps: 'enrich', progress: 'log', rpm: '1000', plan: false, concurrency: '4' }));
  expect(ended.code).toBe(0);
  const log = logOf(ended.stderr) as unknown as { event: string; msg: string; heldUpBy?: string; heldUpUntil?: string }[];
  expect(log.find(({ event }) => event === 'waiting')?.msg).toMatch(
    /^nothing is sent: waiting for the quota, which is used up by the service's own headers, until [\d:]+ UTC \(in \d+ s\) \(quota\)$/,
  );
  expect(log.find(({ event }) => event === 'waited')?.msg).toMatch(/^waited 1\d s for the quota/);
  expect(log.find(({ event }) => event === 'progress')).toMatchObject({ heldUpBy: 'quota', heldUpUntil: expect.stringMatching(/^20.*Z$/) });
  const { waits } = (await folder.json('out.csv.report.json')) as unknown as { waits: { count: number; ms: number; list: Wait[] } };
  expect(waits.list).toEqual([
    { at: expect.stringMatching(/^20.*Z$/), ms: waits.ms, reason: 'quota', what: expect.stringContaining('used up') },
  ]);
  expect(waits.ms).toBeGreaterThanOrEqual(5_000);
  expect(await folder.read('out.csv.report.html')).toMatch(/<h2>Waits<\/h2>\n<p><[^>]+>1<\/\w+> wait of five seconds or more/);
  await expectAllFound(folder, 40);
});
