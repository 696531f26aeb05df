/** A job with one service, and the same job with that service as its only provider. */
import { expect, test } from 'vitest';
import { writeFile } from 'node:fs/promises';
import { makeFolder, startService } from '../support/world.ts';
import { leads, toCsv } from '../support/leads.ts';
import { keys, RUN } from './jobs.ts';

/** Without addresses that are refused, which each run asks for again. */
const ROWS = leads(200, 5).filter(({ key }) => key?.startsWith('refused') !== true);

test('both give the same values and share the ledger: the second pays nothing, and only says whom the values are from', async () => {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  await writeFile(folder.at('in.csv'), toCsv(ROWS));
  // Each run asks again for an unknown verdict.
  service.script = (_asked, _response, reply, usual) => {
    const { status, body } = usual();
    reply({ status, body: String(body).replaceAll('"unknown"', '"risky"') });
  };
  const base = {
    input: { uri: 'in.csv' },
    ledger: { uri: 'answers.ledger' },
    limits: { maxErrors: '100%' },
    steps: ['enrich', 'verify', 'company'],
  };
  const simple = { ...base, service: { baseUrl: service.url, plan: 'enterprise' }, output: { uri: 'simple.csv' } };
  const named = {
    ...base,
    providers: { millrace: { baseUrl: service.url, plan: 'enterprise' } },
    steps: base.steps.map((step) => ({ [step]: { from: ['millrace'] } })),
    output: { uri: 'named.csv' },
  };
  await writeFile(folder.at('job.yaml'), JSON.stringify(simple));
  expect(await folder.run(RUN)).toMatchObject({ code: 0 });
  const [requests, credits] = [service.requests.length, service.credits];
  await writeFile(folder.at('job.yaml'), JSON.stringify(named));
  expect(await folder.run(RUN, { env: keys('millrace') })).toMatchObject({ code: 0 });
  const first = await folder.read('simple.csv');
  const second = await folder.read('named.csv');
  expect([service.requests.length, service.credits]).toEqual([requests, credits]);
  const added = 3;
  const head = first.split(/\r?\n/)[0]?.split(',') ?? [];
  expect(second.split(/\r?\n/)[0]).toBe([...head, 'enrich.source', 'verify.source', 'company.source'].join());
  const [simpleRows, namedRows] = [first, second].map(cellsOf);
  expect(simpleRows?.length).toBe(ROWS.length);
  expect(namedRows?.map((cells) => cells.slice(0, -added))).toEqual(simpleRows);
  // Each step that has values says so, and no other does.
  const [enrich, verify, company] = ['enrich.', 'verify.', 'company.'].map((step) => head.map((name) => name.startsWith(step)));
  for (const [index, cells] of (namedRows ?? []).entries()) {
    const has = (isIn: readonly boolean[] = []): boolean =>
      simpleRows?.[index]?.some((cell, column) => isIn[column] === true && cell !== '') === true;
    expect(cells.slice(-added).map((cell) => cell.replace(/^.*=/, ''))).toEqual(
      [enrich, verify, company].map((step) => (has(step) ? 'millrace' : '')),
    );
  }
});

/** The cells of each row but the head. Some have a comma, a quote or a line feed. */
const cellsOf = (text: string): readonly string[][] =>
  [...text.matchAll(/(?:(?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r?\n))+?(?<=\n)/g)]
    .slice(1)
    .map(([line]) => [...line.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r?\n)/g)].map(([, cell = '']) => cell));
