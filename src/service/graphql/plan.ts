/** From a document to the calls that it makes, and what they may cost at most. Nothing is done here. Pure. */
import {
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  isListType,
  isObjectType,
  Kind,
  print,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { GRAPHQL_LIMITS } from '../openapi/graphql-operation.ts';
import { CALLS, type CallName } from './calls.ts';
import { GraphqlRefusal, graphqlRefusal } from './refusal.ts';
import type { GraphqlRequest } from './request.ts';

export interface PlannedCall {
  /** Under which the document has it. */
  readonly key: string;
  readonly name: CallName;
  readonly args: Readonly<Record<string, unknown>>;
  /** Fields that may come back of it. */
  readonly fields: number;
}

type Variables = Parameters<typeof getArgumentValues>[2];

/** Values of variables that are told to be wrong: graphql-js writes the whole object out for each. */
const MAX_WRONG_VALUES = 3;
/** How many a list within a record is taken to have. */
const USUAL_ITEMS = 5;
/** Fields of introspection that list what has such lists again. */
const INTROSPECTED: readonly string[] = ['fields', 'inputFields', 'interfaces', 'possibleTypes'];

/** @throws GraphqlRefusal */
export function planOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables }: Omit<GraphqlRequest, 'query'>,
): PlannedCall[] {
  const operation = getOperationAST(document, operationName);
  if (operation === null || operation === undefined)
    throw graphqlRefusal(
      'unknown_operation',
      operationName === null
        ? 'query has several operations: say by operationName which is meant'
        : 'query has no operation of this operationName',
    );
  const root = schema.getRootType(operation.operation);
  if (root === null || root === undefined)
    throw graphqlRefusal('unknown_operation', `there are no operations of the kind ${operation.operation}`);
  const read = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: MAX_WRONG_VALUES });
  if (read.errors !== undefined) throw new GraphqlRefusal(read.errors);
  try {
    return new Planner(document, read.variableValues).calls(root, operation.selectionSet);
  } catch (error) {
    // A variable that is not given where there must be a value.
    throw error instanceof GraphQLError ? new GraphqlRefusal([error]) : error;
  }
}

class Planner {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  #cost = 0;
  #given = 0;

  constructor(document: DocumentNode, variables: Variables) {
    this.#fragments = new Map(
      document.definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [])),
    );
    this.#variables = variables;
  }

  calls(root: GraphQLObjectType, selections: SelectionSetNode): PlannedCall[] {
    const calls: PlannedCall[] = [];
    const introspected = new Set<string>();
    const fields = root.getFields();
    for (const [key, nodes] of this.#merged([selections])) {
      const [node] = nodes as [FieldNode];
      const name = node.name.value;
      const field = fields[name];
      if (field === undefined) {
        if (introspected.has(name)) throw graphqlRefusal('repeated', `${name} is asked for more than once`);
        introspected.add(name);
        this.#lookInto(nodes, 1, false);
        continue;
      }
      if (calls.length >= GRAPHQL_LIMITS.calls)
        throw graphqlRefusal('too_many', `query has more than ${GRAPHQL_LIMITS.calls} fields at the top`);
      const args = getArgumentValues(field, node, this.#variables);
      this.#take(args);
      const before = this.#cost;
      const rows = CALLS[name as CallName].rows?.(args) ?? null;
      // They are found, and verdicts asked for, whatever is wanted of them.
      this.#spend(rows ?? 0);
      this.#weigh(nodes, field, rows, 1, 1);
      calls.push({ key, name: name as CallName, args, fields: this.#cost - before });
    }
    return calls;
  }

  /** Counts the arguments of a call against the limit of one body. */
  #take(args: PlannedCall['args']): void {
    this.#given += JSON.stringify(args).length;
    if (this.#given > GRAPHQL_LIMITS.given)
      throw graphqlRefusal(
        'too_long',
        `more than ${GRAPHQL_LIMITS.given} characters are given to all fields at the top, those of a variable as often as it is used`,
      );
  }

  /**
   * Counts what may come back of a field.
   * @param rows that the first list within has; null: as lists have as a rule
   * @param times that it may come back
   */
  #weigh(nodes: readonly FieldNode[], field: GraphQLField<unknown, unknown>, rows: number | null, times: number, depth: number): void {
    this.#spend(nodes.length * times);
    refuseDeep(depth);
    const type = getNamedType(field.type);
    if (!isObjectType(type)) return;
    const isList = isListType(getNullableType(field.type));
    const fields = type.getFields();
    for (const [, inner] of this.#once(nodes)) {
      const [{ name }] = inner as [FieldNode];
      const found = fields[name.value];
      if (found !== undefined) this.#weigh(inner, found, isList ? null : rows, isList ? times * (rows ?? USUAL_ITEMS) : times, depth + 1);
    }
  }

  #spend(fields: number): void {
    this.#cost += fields;
    if (this.#cost > GRAPHQL_LIMITS.cost)
      throw graphqlRefusal(
        'too_costly',
        `query asks for more than ${GRAPHQL_LIMITS.cost} fields of all rows; ask for fewer rows, or fewer fields of each`,
      );
  }

  /** Checks introspection: its types refer to each other without end. */
  #lookInto(nodes: readonly FieldNode[], depth: number, isListed: boolean): void {
    refuseDeep(depth);
    for (const [, inner] of this.#once(nodes)) {
      const isList = INTROSPECTED.includes((inner[0] as FieldNode).name.value);
      if (isList && isListed) throw graphqlRefusal('too_deep', 'introspection of fields within fields is not answered');
      this.#lookInto(inner, depth + 1, isListed || isList);
    }
  }

  /**
   * The fields within some that are one, each asked for once: none has arguments, so that under another name it would be the same again.
   */
  #once(nodes: readonly FieldNode[]): ReadonlyMap<string, readonly FieldNode[]> {
    const merged = this.#merged(nodes.flatMap(({ selectionSet }) => selectionSet ?? []));
    const keys = new Map<string, string>();
    for (const [key, [node]] of merged) {
      const name = (node as FieldNode).name.value;
      const other = keys.get(name);
      if (other !== undefined)
        throw graphqlRefusal('repeated', `${clipped(name)} is asked for as ${clipped(other)} and as ${clipped(key)}; once is enough`);
      keys.set(name, key);
    }
    return merged;
  }

  /** The selected fields by their alias. @throws GraphqlRefusal when an alias stands for different fields */
  #merged(sets: readonly SelectionSetNode[]): Map<string, FieldNode[]> {
    const found = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    const collect = (selection: SelectionNode): void => {
      if (!this.#isIncluded(selection)) return;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const others = found.get(key);
        if (others === undefined) found.set(key, [selection]);
        else if (!isAlike(selection, others[0] as FieldNode))
          throw graphqlRefusal(
            'conflict',
            `${clipped(key)} is asked for with different fields or arguments; take another name for one of them`,
          );
        else others.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        selection.selectionSet.selections.forEach(collect);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        this.#fragments.get(selection.name.value)?.selectionSet.selections.forEach(collect);
      }
    };
    for (const { selections } of sets) selections.forEach(collect);
    return found;
  }

  #isIncluded(selection: SelectionNode): boolean {
    if (selection.directives === undefined || selection.directives.length === 0) return true;
    return (
      getDirectiveValues(GraphQLSkipDirective, selection, this.#variables)?.['if'] !== true &&
      getDirectiveValues(GraphQLIncludeDirective, selection, this.#variables)?.['if'] !== false
    );
  }
}

function refuseDeep(depth: number): void {
  if (depth > GRAPHQL_LIMITS.depth)
    throw graphqlRefusal('too_deep', `query has more than ${GRAPHQL_LIMITS.depth} fields within each other`);
}

function isAlike(one: FieldNode, other: FieldNode): boolean {
  return one.name.value === other.name.value && argumentsOf(one) === argumentsOf(other);
}

function argumentsOf({ arguments: given = [] }: FieldNode): string {
  return given
    .map((argument) => print(argument))
    .sort()
    .join();
}

function clipped(name: string): string {
  return name.slice(0, 64);
}
