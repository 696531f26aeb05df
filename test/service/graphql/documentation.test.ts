/** docs/graphql.md: each document in it is sent, and answered as it says. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { GRAPHQL_LIMITS } from '../../../src/service/openapi/graphql-operation.ts';
import { serveStore, temporaryFolder } from '../harness.ts';
import { ask, SCHEMA } from './asking.ts';

const page = await readFile(new URL('../../../docs/graphql.md', import.meta.url), 'utf8');

test('the documents of the GraphQL page get the answers that it shows', async () => {
  const service = await serveStore({ store: `${await temporaryFolder()}/sample.sqlite`, sample: true });
  const examples = [...page.matchAll(/```graphql\n([^]*?)```\n\n```json\n([^]*?)```/g)];
  expect(examples.length).toBe(2);
  const credits: number[] = [];
  for (const [, query = '', answer = ''] of examples) {
    const asked = await ask(service, query, { key: 'sample-key' });
    expect(JSON.parse(asked.text.replaceAll(/"request_id":"[^"]*"/g, '"request_id":"req_1f0c8a4be2d7_1"'))).toEqual(JSON.parse(answer));
    credits.push(asked.credits);
  }
  expect(credits).toEqual([0, 2]);
  const [, command = ''] = /-d '(.*)'/.exec(page) ?? [];
  expect((await service.post('/v1/graphql', command, { key: 'sample-key' })).text).toBe(
    '{"data":{"company":{"name":"Cobalt Materials","employees":1322}}}',
  );
});

test('the GraphQL page names every field at the top, and the limits as they are', () => {
  for (const root of [SCHEMA.getQueryType(), SCHEMA.getMutationType()])
    for (const name of Object.keys(root?.getFields() ?? {})) expect(page).toContain(`\`${name}\``);
  const { length, tokens, nesting, calls, cost } = GRAPHQL_LIMITS;
  for (const bound of [
    `${length.toLocaleString('en')} characters`,
    `${tokens.toLocaleString('en')} tokens`,
    `${nesting} brackets`,
    `${calls} fields at the top`,
    cost.toLocaleString('en'),
  ])
    expect(page.replaceAll('\n', ' ')).toContain(bound);
});
