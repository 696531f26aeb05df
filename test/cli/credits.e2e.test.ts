/** The credits that a job may cost, and the rates that it must reach: `limits.maxCredits` and `alerts`. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';

const addresses = (count: number): string => `email\n${Array.from({ length: count }, (_, i) => `a${i}@works.example\n`).join('')}`;

test('a job stops before the first credit over limits.maxCredits, and a raised limit pays for the rest once', async () => {
  const { folder, service, args } = await makeWorld(addresses(100));
  const options = { steps: 'enrich', concurrency: '8' };
  const first = await folder.run(args({ ...options, 'limits.maxCredits': '25' }));
  expect(first).toMatchObject({ code: 77, stderr: expect.stringContaining('limits.maxCredits is reached: 25 of 25 credits are spent') });
  expect(first.stderr).toContain('--limits.maxCredits');
  expect([service.credits, service.requests.length]).toEqual([25, 25]);
  expect(await folder.run(args({ ...options, 'limits.maxCredits': '100' }))).toMatchObject({ code: 0 });
  expect([service.credits, service.requests.length]).toEqual([100, 100]);
});

test.each([undefined, 'abc', '-1'])('a job stops at limits.maxCredits although the service names its credits as %s', async (named) => {
  const { folder, service, args } = await makeWorld(addresses(100));
  let charged = 0;
  service.script = (_asked, response, reply, usual) => {
    const { status, body } = usual();
    charged++;
    if (named !== undefined) reply({ status, body, headers: { 'x-credits-charged': named } });
    else response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  const options = { steps: 'enrich', concurrency: '8' };
  const first = await folder.run(args({ ...options, 'limits.maxCredits': '25' }));
  expect(first).toMatchObject({ code: 77, stderr: expect.stringContaining('limits.maxCredits is reached: 25 of 25 credits are spent') });
  expect(charged).toBe(25);
  // The next run knows what this one may have spent.
  expect(await folder.run(args({ ...options, 'limits.maxCredits': '40' }))).toMatchObject({ code: 77 });
  expect(charged).toBe(40);
});

test('misses cost nothing, so they do not count against limits.maxCredits', async () => {
  const { folder, service, args } = await makeWorld(
    `email\n${Array.from({ length: 60 }, (_, i) => `${i % 2 === 0 ? 'miss' : 'a'}${i}@works.example\n`).join('')}`,
  );
  expect(await folder.run(args({ steps: 'enrich', concurrency: '8', 'limits.maxCredits': '30' }))).toMatchObject({ code: 0 });
  expect(service.credits).toBe(30);
});

test('verify requests shrink at the end of limits.maxCredits, so that its last credit is used', async () => {
  const { folder, service, args } = await makeWorld(addresses(300));
  const options = { steps: 'verify' };
  expect(await folder.run(args({ ...options, 'limits.maxCredits': '130' }))).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('130 of 130 credits are spent'),
  });
  expect(service.credits).toBe(130);
  expect(await folder.run(args({ ...options, 'limits.maxCredits': '300' }))).toMatchObject({ code: 0 });
  expect(service.credits).toBe(300);
  expect([...service.asked.values()].filter((times) => times > 1)).toEqual([]);
});

test('requests that were made smaller for limits.maxCredits are full again once it is raised', async () => {
  const { folder, service, args } = await makeWorld(addresses(5_000));
  expect(await folder.run(args({ steps: 'verify', 'limits.maxCredits': '2300' }))).toMatchObject({
    code: 77,
    stderr: expect.not.stringContaining('addresses a request'),
  });
  expect(service.credits).toBe(2_300);
  const before = service.requests.length;
  expect(await folder.run(args({ steps: 'verify', 'limits.maxCredits': '5000' }))).toMatchObject({ code: 0 });
  expect(service.credits).toBe(5_000);
  expect([...service.asked.values()].filter((times) => times > 1)).toEqual([]);
  // Parts of the requests that the limit divided, and full ones.
  expect(service.requests.length - before).toBeLessThanOrEqual(12);
  expect(await folder.json('out.csv.report.json')).not.toHaveProperty('verifyRequests');
});

test('a finished run exits with 1 when a rate is below its alert, and its report says why', async () => {
  const rows = leads(40, 3).filter(({ key }) => key === null || !/^(gone|refused)/.test(key));
  const { folder, args } = await makeWorld(toCsv(rows));
  const alerts = { 'alerts.matchRateBelow': '99.9%', 'alerts.deliverableBelow': '1%' };
  const reason = expect.stringMatching(/^the match rate is [\d.]+ %, and alerts\.matchRateBelow is 99\.9 %$/);
  expect(await folder.run(args({ ...alerts, steps: 'enrich,verify' }))).toMatchObject({ code: 1 });
  expect(await folder.json('out.csv.report.json')).toMatchObject({ exitCode: 1, exitReasons: [reason] });
  // The same command says so again, and calls nothing.
  expect(await folder.run(args({ ...alerts, steps: 'enrich,verify' }))).toMatchObject({ code: 1 });
});

test('people and companies have a match rate each, wherever one is shown, and an alert each', async () => {
  const rows = [
    ...Array.from({ length: 10 }, (_, i) => `${i < 7 ? 'miss' : 'a'}${i}@works.example,`),
    ...Array.from({ length: 20 }, (_, i) => `,${i < 2 ? 'miss' : 'c'}${i}.example`),
    'miss@works.example,known.example',
  ];
  const { folder, args } = await makeWorld(`email,website\n${rows.join('\n')}\n`);
  const options = { steps: 'enrich,company', 'alerts.matchRateBelow': '60%', 'alerts.peopleMatchRateBelow': '50%' };
  expect(await folder.run(args({ ...options, 'alerts.companyMatchRateBelow': '80%' }))).toMatchObject({ code: 1 });
  expect(await folder.json('out.csv.report.json')).toMatchObject({
    exitReasons: ['the match rate of people is 27.3 %, and alerts.peopleMatchRateBelow is 50 %'],
    // A miss by address does not fall back to the domain: the record stays a person's.
    people: { matched: 3, no_match: 8, matchRate: 0.2727 },
    companies: { matched: 18, no_match: 2, matchRate: 0.9 },
    matchRate: 0.6774,
  });
  const [, ...rest] = args(options).filter((word, i, all) => word !== '--progress' && all[i - 1] !== '--progress');
  const { stdout } = await folder.run(['status', ...rest]);
  expect(stdout.match(/^match rate .*$/gm)).toEqual([
    expect.stringMatching(/27\.3 % {2}of the people that were answered$/),
    expect.stringMatching(/90\.0 % {2}of the companies that were answered$/),
  ]);
  expect(JSON.parse((await folder.run(['jobs', '--json'])).stdout)).toMatchObject([{ peopleMatched: 3 / 11, companiesMatched: 0.9 }]);
  expect((await folder.run(['jobs'])).stdout).toMatch(/ people {2}companies .*\n.* 27\.3 % {2}90 % /);
});

test('a plan estimates credits by the match rate in the ledger, or by a stated one, and in money', async () => {
  const half = `email\n${Array.from({ length: 40 }, (_, i) => `${i % 2 === 0 ? 'miss' : 'a'}${i}@works.example\n`).join('')}`;
  const { folder, args } = await makeWorld(half);
  const kept = { steps: 'enrich', ledger: 'kept.ledger', 'ledger.maxAgeDays': '30', 'service.creditPrice': '0.5 EUR' };
  const planned = async (more: Record<string, string> = {}): Promise<unknown> => {
    const [, ...rest] = args({ ...kept, output: 'next.csv', input: 'next.csv.in', 'input.format': 'csv', ...more });
    return (JSON.parse((await folder.run(['plan', ...rest, '--json'])).stdout) as { credits: unknown }).credits;
  };
  await writeFile(folder.at('next.csv.in'), addresses(200).replaceAll('works', 'other'));
  expect(await planned()).toEqual({ atMost: 200, expected: null, matchRates: {}, from: null, cost: null });
  expect(await folder.run(args(kept))).toMatchObject({ code: 0 });
  expect(await folder.json('out.csv.report.json')).toMatchObject({ credits: 20, cost: { amount: 10, currency: 'EUR' } });
  expect(await planned()).toEqual({
    atMost: 200,
    expected: 100,
    matchRates: { enrich: 0.5 },
    from: 'ledger',
    cost: { amount: 50, currency: 'EUR' },
  });
  expect(await planned({ 'match-rate': '25%' })).toMatchObject({ expected: 50, from: 'stated' });
});
