/** Names of types, made of those that the records have. Pure. */

/** `score_factors` of a `Verification` as the name of a type: `VerificationScoreFactors`. */
export function typeName(parent: string, field: string): string {
  return `${parent}${field
    .split('_')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')}`;
}

/** The type of one of a list: `VerificationScoreFactor`. */
export function itemName(name: string): string {
  return name.replace(/ies$/, 'y').replace(/s$/, '');
}

/** Whether all values can be those of an enum: GraphQL has names there. */
export function areNames(values: readonly unknown[]): values is readonly string[] {
  return values.every((value) => typeof value === 'string' && /^[a-z_][a-z_\d]*$/i.test(value));
}
