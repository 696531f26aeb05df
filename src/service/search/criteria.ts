/** What an expression asks of rows, looked up: of a block of rows at once, or of one row by its terms. */
import { and, BLOCK, emptyBits, isEmpty, or, setBit, type Bits } from './bitmap.ts';
import type { Expression } from './expression.ts';
import { manyTerms } from './many-terms.ts';
import { includes, type PostingReader } from './posting-reader.ts';
import { rangeCriterion } from './range-criterion.ts';
import { EVERY } from './terms.ts';

export interface Criterion {
  /** About how many rows meet it, of all. */
  readonly about: number;
  /** About how many blocks have to be read for it at the most. */
  readonly cost: number;
  /** How often one has to look into the terms of a row at the most. */
  readonly rowCost: number;
  /** Adds the rows of a block that meet it to a set of that block. Of rows that are not in `among` it may say anything. */
  addTo(block: number, into: Bits, among: Bits): void;
  /** Whether the row with these terms meets it. */
  meets(row: number, terms: Uint32Array): boolean;
}

/** From so many on, terms of which any will do are not kept apart. */
const MANY_TERMS = 64;

const NOBODY: Criterion = { about: 0, cost: 0, rowCost: 0, addTo: () => undefined, meets: () => false };

export function criterionOf(expression: Expression, reader: PostingReader): Criterion {
  switch (expression.kind) {
    case 'term':
      return termCriterion(expression.term, reader);
    case 'range':
      return rangeCriterion(expression, reader) ?? NOBODY;
    case 'rows':
      return rowsCriterion(new Set(expression.rows));
    case 'any':
      return anyOf(partsOfAny(expression.of, reader));
    case 'all': {
      const [first, ...rest] = expression.of.map((part) => criterionOf(part, reader));
      if (first === undefined) return NOBODY;
      return rest.length === 0 ? first : allOf(first, rest);
    }
    case 'not':
      return noneOf(criterionOf(expression.of, reader), reader.posting(EVERY).about);
    default:
      return expression satisfies never;
  }
}

function termCriterion(term: string, reader: PostingReader): Criterion {
  const posting = reader.posting(term);
  return { about: posting.about, cost: posting.blocks, rowCost: 1, addTo: (block, into) => posting.addTo(block, into), meets: (_row, terms) => includes(terms, posting.id) };
}

function rowsCriterion(known: ReadonlySet<number>): Criterion {
  return {
    about: known.size,
    cost: 0,
    rowCost: 1,
    addTo(block, into) {
      for (const row of known) if (Math.floor(row / BLOCK) === block) setBit(into, row % BLOCK);
    },
    meets: (row) => known.has(row),
  };
}

const sum = (parts: readonly Criterion[], of: 'about' | 'cost' | 'rowCost'): number => parts.reduce((total, part) => total + part[of], 0);

/** Each term once, and all rows as one set. */
function partsOfAny(of: readonly Expression[], reader: PostingReader): Criterion[] {
  const [terms, rows, others] = [new Set<string>(), new Set<number>(), [] as Expression[]];
  for (const part of flat(of)) {
    if (part.kind === 'term') terms.add(part.term);
    else if (part.kind === 'rows') for (const row of part.rows) rows.add(row);
    else others.push(part);
  }
  return [
    ...(rows.size > 0 ? [rowsCriterion(rows)] : []),
    ...(terms.size < MANY_TERMS ? [...terms].map((term) => termCriterion(term, reader)) : [manyTerms([...terms], reader)]),
    ...others.map((part) => criterionOf(part, reader)),
  ];
}

/** Any of what is any of others is any of those. */
function* flat(of: readonly Expression[]): Generator<Expression> {
  for (const part of of) {
    if (part.kind === 'any') yield* flat(part.of);
    else yield part;
  }
}

function anyOf(parts: readonly Criterion[]): Criterion {
  const [first, ...more] = parts;
  if (first === undefined) return NOBODY;
  if (more.length === 0) return first;
  return {
    about: sum(parts, 'about'),
    cost: sum(parts, 'cost'),
    rowCost: sum(parts, 'rowCost'),
    addTo(block, into, among) {
      for (const part of parts) part.addTo(block, into, among);
    },
    meets: (row, terms) => parts.some((part) => part.meets(row, terms)),
  };
}

function allOf(first: Criterion, rest: readonly Criterion[]): Criterion {
  const [found, more] = [emptyBits(BLOCK), emptyBits(BLOCK)];
  return {
    about: Math.min(first.about, ...rest.map(({ about }) => about)),
    cost: first.cost + sum(rest, 'cost'),
    rowCost: first.rowCost + sum(rest, 'rowCost'),
    addTo(block, into, among) {
      found.fill(0);
      first.addTo(block, found, among);
      for (const part of rest) {
        if (isEmpty(found)) return;
        more.fill(0);
        part.addTo(block, more, found);
        and(found, more);
      }
      or(into, found);
    },
    meets: (row, terms) => first.meets(row, terms) && rest.every((part) => part.meets(row, terms)),
  };
}

/** Of people who are looked at, all of whom are there. @param all how many there are, about */
function noneOf(part: Criterion, all: number): Criterion {
  const found = emptyBits(BLOCK);
  return {
    ...part,
    about: Math.max(0, all - part.about),
    addTo(block, into, among) {
      found.fill(0);
      part.addTo(block, found, among);
      for (let i = 0; i < found.length; i++) into[i] = (into[i] ?? 0) | ((among[i] ?? 0) & ~(found[i] ?? 0));
    },
    meets: (row, terms) => !part.meets(row, terms),
  };
}
