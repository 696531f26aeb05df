/** Whether a condition holds for a record: compiled once, asked for each record. Pure. */
import { comparable } from '../definition/conditions.ts';
import type { Comparison, Condition, Operand, PathOperand } from '../definition/condition/condition.ts';

/** The value of a column, or of a result's field: null where it is absent, undefined where it is unknown. */
export type ConditionValue = string | readonly string[] | null | undefined;

/** Null: unknown. */
export type Truth = boolean | null;

type Test<S> = (subject: S) => Truth;
type Reader<S> = (subject: S) => ConditionValue;

/** @param readerOf how a path is read from what a condition is asked of */
export function compileCondition<S>(condition: Condition, readerOf: (path: PathOperand) => Reader<S>): Test<S> {
  const read = (operand: Operand): Reader<S> => (operand.kind === 'path' ? readerOf(operand) : () => operand.text);
  const compile = (one: Condition): Test<S> => {
    switch (one.kind) {
      case 'and':
      case 'or': {
        const tests = one.of.map(compile);
        // One false part makes `and` false, whatever is unknown; one true part makes `or` true.
        const decides = one.kind === 'or';
        return (subject) => {
          let truth: Truth = !decides;
          for (const test of tests) {
            const part = test(subject);
            if (part === decides) return decides;
            if (part === null) truth = null;
          }
          return truth;
        };
      }
      case 'not': {
        const test = compile(one.of);
        return (subject) => negated(test(subject));
      }
      case 'compare': {
        const [left, right] = [read(one.left), read(one.right)];
        return (subject) => compare(one.operator, left(subject), right(subject));
      }
      case 'in': {
        const [value, among] = [read(one.value), one.among.map(read)];
        return (subject) => anyOf(among.map((other) => compare('=', value(subject), other(subject))));
      }
      case 'contains': {
        const [value, part] = [read(one.value), read(one.part)];
        return (subject) => contains(value(subject), part(subject));
      }
      case 'empty': {
        const value = read(one.value);
        return (subject) => {
          const found = value(subject);
          return found === undefined ? null : isAbsent(found);
        };
      }
      default:
        return one satisfies never;
    }
  };
  return compile(condition);
}

function negated(truth: Truth): Truth {
  return truth === null ? null : !truth;
}

function anyOf(truths: readonly Truth[]): Truth {
  return truths.includes(true) ? true : truths.includes(null) ? null : false;
}

function isAbsent(value: string | readonly string[] | null): boolean {
  return value === null || textOf(value).trim() === '';
}

/** A list as a cell shows it. */
function textOf(value: string | readonly string[]): string {
  return typeof value === 'string' ? value : value.join(';');
}

/** Numbers, also with commas between thousands. */
const NUMBER = /^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$/;

function numberIn(text: string): number | null {
  return NUMBER.test(text) ? Number(text.replaceAll(',', '')) : null;
}

/** An absent value makes a comparison false. */
function compare(operator: Comparison, left: ConditionValue, right: ConditionValue): Truth {
  if (left === undefined || right === undefined) return null;
  if (left === null || right === null || isAbsent(left) || isAbsent(right)) return false;
  const [one, other] = [comparable(textOf(left)), comparable(textOf(right))];
  const [first, second] = [numberIn(one), numberIn(other)];
  return first === null || second === null ? isSo(operator, one, other) : isSo(operator, first, second);
}

function isSo<T extends string | number>(operator: Comparison, one: T, other: T): boolean {
  switch (operator) {
    case '=':
      return one === other;
    case '!=':
      return one !== other;
    case '<':
      return one < other;
    case '<=':
      return one <= other;
    case '>':
      return one > other;
    case '>=':
      return one >= other;
    default:
      return operator satisfies never;
  }
}

/** A list has the value as one of its entries, a text as a part of it. */
function contains(value: ConditionValue, part: ConditionValue): Truth {
  if (value === undefined || part === undefined) return null;
  if (value === null || part === null || isAbsent(part)) return false;
  const wanted = comparable(textOf(part));
  return typeof value === 'string' ? comparable(value).includes(wanted) : value.some((one) => comparable(one) === wanted);
}
