/** Puts together what a document asked for. A long answer is composed row by row, over several turns of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { execute, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql';
import type { GraphqlRequest } from './request.ts';

/** Fields that are composed in one turn: a few milliseconds. */
const FIELDS_A_TURN = 2_000;
/** A call with at most this many fields is composed at once. */
const FEW_FIELDS = 200;

/** The outcome of a call. */
export interface Composed {
  /** Under which the document has it. */
  readonly key: string;
  /** Fields that may come back of it. */
  readonly fields: number;
  /** @throws GraphQLError for a refusal */
  readonly value: () => unknown;
}

/** The text of the answer. @throws what is no refusal: a bug */
export async function compose(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variables, operationName }: GraphqlRequest,
  calls: readonly Composed[],
): Promise<string> {
  const rows = new HeldRows();
  const outcomes = new Map(calls.map((call) => [call.key, () => rows.hold(call)]));
  const composed = execute({ schema, document, rootValue: outcomes, variableValues: variables, operationName });
  await rows.release();
  const result = await composed;
  const bug = result.errors?.find(({ extensions }) => extensions['code'] === undefined);
  if (bug !== undefined) throw bug;
  return textOf(result, calls);
}

/** Rows that graphql-js gets as promises: it composes each when the promise resolves. */
class HeldRows {
  readonly #held: { readonly fields: number; readonly release: () => void }[] = [];

  /** The value of a call, whose rows wait when they are long together. */
  hold({ fields, value }: Composed): unknown {
    const found = value();
    if (fields <= FEW_FIELDS) return found;
    const { edges } = found as { readonly edges?: readonly unknown[] };
    if (edges === undefined) return this.#later(found, fields);
    return { ...(found as object), edges: edges.map((edge) => this.#later(edge, fields / edges.length)) };
  }

  #later(value: unknown, fields: number): Promise<unknown> {
    return new Promise((resolve) => {
      this.#held.push({ fields, release: () => resolve(value) });
    });
  }

  /** Releases some rows in each turn. */
  async release(): Promise<void> {
    // The fields of a mutation are composed one after another: when one is done, the rows of the next come.
    while (this.#held.length > 0) {
      for (let fields = 0; fields < FIELDS_A_TURN;) {
        const next = this.#held.shift();
        if (next === undefined) break;
        next.release();
        fields += next.fields;
      }
      await nextTurn();
    }
  }
}

/** As `JSON.stringify`, call by call. */
async function textOf(result: ExecutionResult, calls: readonly Composed[]): Promise<string> {
  const { data, errors } = result;
  if (data === null || data === undefined || calls.reduce((sum, { fields }) => sum + fields, 0) <= FIELDS_A_TURN)
    return JSON.stringify(result);
  const parts: string[] = [];
  for (const [key, value] of Object.entries(data)) {
    parts.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`);
    await nextTurn();
  }
  return `{${errors === undefined ? '' : `"errors":${JSON.stringify(errors)},`}"data":{${parts.join(',')}}}`;
}
