/** One odd answer among good ones, of the service or of what stands in front of it: it ends no run and becomes no fact. */
import { expect, test } from 'vitest';
import { problem, type Reply } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = 400;
const INPUT = `email\n${Array.from({ length: ROWS }, (_, i) => `a${i}@works.example\n`).join('')}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const HTML = { 'content-type': 'text/html' };
/** The request that gets the odd answer. */
const ODD = 300;

test.each<[string, Reply]>([
  ['a 404 of a gateway without a route', { status: 404, headers: JSON_TYPE, body: '{"message":"no Route matched with those values"}' }],
  ['an empty 404 typed JSON', { status: 404, headers: JSON_TYPE, body: '' }],
  ['a 404 in HTML', { status: 404, headers: HTML, body: '<html><title>Not Found</title></html>' }],
  ['a 403 page of a firewall', { status: 403, headers: HTML, body: '<html><title>Blocked</title></html>' }],
  ['a refused key', problem(403, 'forbidden')],
  ['a 403 with Retry-After', { ...problem(403, 'forbidden'), headers: { 'retry-after': '1' } }],
  ['a 200 that is an error', { status: 200, body: '{"success":false,"error":"rate limit exceeded"}' }],
])('a run that meets %s once has every record, and pays for each once', async (_what, odd) => {
  const { folder, service, args } = await makeWorld(INPUT);
  service.script = ({ number }, _response, reply, usual) => reply(number === ODD ? odd : usual());
  expect(await folder.run(args({ steps: 'enrich', concurrency: '8' }))).toMatchObject({ code: 0 });
  const { records, credits } = (await folder.json('out.csv.report.json')) as { records: object; credits: number };
  expect([records, credits, service.requests.length]).toEqual([expect.objectContaining({ total: ROWS, matched: ROWS }), ROWS, ROWS + 1]);
});

test('a lookup whose answers are no record is paid twice, and fails alone', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  service.script = ({ keys }, _response, reply, usual) =>
    reply(keys[0] === 'a7@works.example' ? { status: 200, headers: { 'content-type': 'text/csv' }, body: 'email,name\na,b\n' } : usual());
  expect(await folder.run(args({ steps: 'enrich', concurrency: '8', 'max-errors': '5%' }))).toMatchObject({ code: 0 });
  expect(service.asked.get('enrich a7@works.example')).toBe(2);
  expect(await folder.json('out.csv.report.json')).toMatchObject({ records: { matched: ROWS - 1, failed: 1 } });
});
