/** A condition on a record, as `when` and `input.where` write it. Types only. */

/** A column of the input (`input`, then its name), or a field of a step's result. */
export interface PathOperand {
  readonly kind: 'path';
  readonly path: readonly string[];
  /** Its column in the text, from 1. */
  readonly at: number;
}

export type Operand = PathOperand | { readonly kind: 'value'; readonly text: string };

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Operand; readonly right: Operand }
  | { readonly kind: 'in'; readonly value: Operand; readonly among: readonly Operand[] }
  | { readonly kind: 'contains'; readonly value: Operand; readonly part: Operand }
  | { readonly kind: 'empty'; readonly value: Operand };

/** A condition with the text that a job has. */
export interface WrittenCondition {
  readonly text: string;
  readonly root: Condition;
}

/** The paths that a condition reads. */
export function pathsIn(condition: Condition): readonly PathOperand[] {
  const paths = (...operands: readonly Operand[]): readonly PathOperand[] => operands.filter((one) => one.kind === 'path');
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.of.flatMap(pathsIn);
    case 'not':
      return pathsIn(condition.of);
    case 'compare':
      return paths(condition.left, condition.right);
    case 'in':
      return paths(condition.value, ...condition.among);
    case 'contains':
      return paths(condition.value, condition.part);
    case 'empty':
      return paths(condition.value);
    default:
      return condition satisfies never;
  }
}
