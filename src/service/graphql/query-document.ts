/** From a text to a document that the schema allows, with bounds on the work of finding that out. Pure. */
import {
  GraphQLError,
  Lexer,
  OverlappingFieldsCanBeMergedRule,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
  type DocumentNode,
  type GraphQLSchema,
} from 'graphql';
import { GRAPHQL_LIMITS } from '../openapi/graphql-operation.ts';
import { GraphqlRefusal, graphqlRefusal } from './refusal.ts';

/** More help nobody. */
const MAX_ERRORS = 20;
/** Whether fields of one name are alike is seen when they are merged (`plan.ts`): this rule compares all of them in pairs. */
const RULES = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);
const OPENING: readonly string[] = [TokenKind.BRACE_L, TokenKind.PAREN_L, TokenKind.BRACKET_L];
const CLOSING: readonly string[] = [TokenKind.BRACE_R, TokenKind.PAREN_R, TokenKind.BRACKET_R];

/** @throws GraphqlRefusal */
export function readDocument(schema: GraphQLSchema, text: string): DocumentNode {
  const document = parsed(text);
  const errors = validate(schema, document, RULES, { maxErrors: MAX_ERRORS });
  if (errors.length > 0) throw new GraphqlRefusal(errors);
  return document;
}

function parsed(text: string): DocumentNode {
  const { length, tokens } = GRAPHQL_LIMITS;
  if (text.length > length) throw graphqlRefusal('too_long', `query has ${text.length} characters; at most ${length} are taken`);
  const source = new Source(text);
  try {
    refuseLarge(source);
    return parse(source, { maxTokens: tokens });
  } catch (error) {
    if (error instanceof GraphQLError) throw new GraphqlRefusal([error]);
    throw error;
  }
}

/** Before it is parsed: that goes one call deeper with each bracket. */
function refuseLarge(source: Source): void {
  const { tokens, nesting } = GRAPHQL_LIMITS;
  const lexer = new Lexer(source);
  let count = 0;
  let open = 0;
  for (let { kind } = lexer.advance(); kind !== TokenKind.EOF; { kind } = lexer.advance()) {
    if (++count > tokens) throw graphqlRefusal('too_many_tokens', `query has more than ${tokens} tokens`);
    if (OPENING.includes(kind)) open++;
    else if (CLOSING.includes(kind)) open--;
    if (open > nesting) throw graphqlRefusal('too_deep', `query has more than ${nesting} brackets within each other`);
  }
}
