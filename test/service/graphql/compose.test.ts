import { executeSync, GraphQLError, parse } from 'graphql';
import { expect, it } from 'vitest';
import { compose, type Composed } from '../../../src/service/graphql/compose.ts';
import { buildSchema } from '../../../src/service/graphql/graphql-schema.ts';

const SCHEMA = buildSchema();
const NODE = '{ id name title department skills company { name domain } }';
/** Fields of a row, with the edge around it. */
const ROW_FIELDS = 10;
const asked = { query: '', variables: {}, operationName: null };

/** A page of contacts as the use case gives it. */
function page(count: number, name: string): Record<string, unknown> {
  return {
    edges: Array.from({ length: count }, (_, n) => ({
      node: { id: `pe_${n}`, name: `${name} ${n}`, title: null, skills: ['a', 'b'], company: { name: 'Acme', domain: 'acme.example' } },
      cursor: () => `cursor ${n}`,
    })),
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: () => 'first', endCursor: () => 'last' },
    totalCount: count,
    totalRelation: 'eq',
  };
}

function refuse(): never {
  throw new GraphQLError('there is no such person', { extensions: { code: 'no_match' } });
}

/** The text of the answer, with the number of turns of the event loop that it took. */
async function composed(query: string, calls: readonly Composed[]): Promise<{ text: string; turns: number }> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const text = await compose(SCHEMA, parse(query), asked, calls);
  isDone = true;
  return { text, turns };
}

/** The answer that graphql-js composes at once. */
function plain(query: string, calls: readonly Composed[]): string {
  const rootValue = new Map(calls.map(({ key, value }) => [key, value]));
  return JSON.stringify(executeSync({ schema: SCHEMA, document: parse(query), rootValue }));
}

it('a long answer is composed over turns of the event loop, and is the one that is composed at once', async () => {
  const keys = ['a', 'b', 'c', 'd'];
  const contacts = keys.map((key) => `${key}: contacts(first: 100) { edges { cursor node ${NODE} } pageInfo { endCursor } totalCount }`);
  const query = `{ ${contacts.join(' ')} none: contact(id: "pe_9") { name } __typename }`;
  const calls: Composed[] = [
    ...keys.map((key) => ({ key, fields: 100 * ROW_FIELDS * 5, value: () => page(100, key) })),
    { key: 'none', fields: 2, value: refuse },
  ];
  const { text, turns } = await composed(query, calls);
  expect(text).toBe(plain(query, calls));
  // At most 2,000 fields and one row in a turn.
  expect(turns).toBeGreaterThanOrEqual((4 * 100 * ROW_FIELDS * 5) / 2_050);
});

it('a long record and the fields of a mutation wait for their turns, too', async () => {
  const query = 'mutation { a: enrich(id: "pe_1") { name title } b: enrich(id: "pe_2") { name } c: enrich(id: "pe_3") { name } }';
  const calls = ['a', 'b', 'c'].map((key): Composed => ({ key, fields: 3_000, value: () => ({ name: key, title: null }) }));
  const { text, turns } = await composed(query, calls);
  expect(text).toBe(plain(query, calls));
  expect(turns).toBeGreaterThanOrEqual(3);
});

it('a bug within a long answer is no part of the answer', async () => {
  const broken = new Error('broken');
  const value = (): unknown => ({
    ...page(100, 'x'),
    edges: [
      {
        node: {
          get id(): never {
            throw broken;
          },
        },
      },
    ],
  });
  await expect(
    compose(SCHEMA, parse('{ contacts { edges { node { id } } } }'), asked, [{ key: 'contacts', fields: 5_000, value }]),
  ).rejects.toThrow('broken');
});
