/** Values that GraphQL has no type for. Pure. */
import { GraphQLError, GraphQLScalarType } from 'graphql';

/** GraphQL's own Int ends at 2^31, and revenues do not. */
export const WHOLE = new GraphQLScalarType<number, number>({
  name: 'Whole',
  description: 'A whole number of up to 2^53.',
  coerceOutputValue(value) {
    if (!Number.isSafeInteger(value)) throw new GraphQLError('a whole number was expected');
    return value as number;
  },
});

export const JSON_VALUE = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any value: of an object whose names are not known beforehand, or of what is a text or an object.',
  coerceOutputValue: (value) => value,
});
