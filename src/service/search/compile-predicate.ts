/** Compiles a predicate: looks its terms up, estimates its cost, and makes it run on a block of rows or on a single row. */
import type { Steps } from '../../util/steps.ts';
import { and, BLOCK, emptyBitmap, isEmptyBitmap, or, setBit, type Bitmap } from '../store/index/bitmap.ts';
import { EVERY } from '../store/index/terms.ts';
import { compileRange } from './bit-sliced-range.ts';
import { includes, type PostingReader } from './posting-reader.ts';
import type { CompiledPredicate } from './compiled-predicate.ts';
import type { Predicate } from './predicate.ts';

/** Unions of this many terms keep one set of ids instead of a posting list for each term. */
const LARGE_UNION = 64;
/** A large union looks up the sizes of this many of its posting lists, and assumes that the others are alike. */
const SAMPLE = 32;
/** A row has some tens of terms, and each is looked up in the set of ids. */
const LARGE_UNION_PROBES = 16;
/** Finding the rows of one block among this many row ids takes one unit of work. */
const ROWS_A_UNIT = 2_000;

const MATCHES_NOTHING: CompiledPredicate = { rowEstimate: 0, blockCost: 0, probeCost: 0, addTo: nothing, matches: () => false };

function* nothing(): Steps<void> {
  yield 0;
}

export function* compilePredicate(predicate: Predicate, reader: PostingReader): Steps<CompiledPredicate> {
  switch (predicate.kind) {
    case 'term':
      return yield* compileTerm(predicate.term, reader);
    case 'range':
      yield 1;
      return compileRange(predicate, reader) ?? MATCHES_NOTHING;
    case 'rows':
      return compileRows(new Set(predicate.rows));
    case 'ids':
      return compileLargeUnion(new Set(predicate.ids), reader);
    case 'any':
      return union(yield* unionParts(predicate.of, reader));
    case 'all': {
      const [first, ...rest] = yield* compileEach(predicate.of, reader);
      if (first === undefined) return MATCHES_NOTHING;
      return rest.length === 0 ? first : intersection(first, rest);
    }
    case 'not':
      return complement(yield* compilePredicate(predicate.of, reader), reader.list(EVERY).rowEstimate);
    default:
      return predicate satisfies never;
  }
}

function* compileEach(predicates: readonly Predicate[], reader: PostingReader): Steps<CompiledPredicate[]> {
  const compiled: CompiledPredicate[] = [];
  for (const predicate of predicates) compiled.push(yield* compilePredicate(predicate, reader));
  return compiled;
}

function* compileTerm(term: string, reader: PostingReader): Steps<CompiledPredicate> {
  const list = reader.list(term);
  yield 1;
  return {
    rowEstimate: list.rowEstimate,
    blockCost: list.blocks,
    probeCost: 1,
    *addTo(block, into) {
      list.addTo(block, into);
      yield 1;
    },
    matches: (_row, terms) => includes(terms, list.id),
  };
}

function compileRows(ids: ReadonlySet<number>): CompiledPredicate {
  return {
    rowEstimate: ids.size,
    blockCost: 0,
    probeCost: 1,
    *addTo(block, into) {
      for (const row of ids) if (Math.floor(row / BLOCK) === block) setBit(into, row % BLOCK);
      yield Math.ceil(ids.size / ROWS_A_UNIT);
    },
    matches: (row) => ids.has(row),
  };
}

const sum = (parts: readonly CompiledPredicate[], of: 'rowEstimate' | 'blockCost' | 'probeCost'): number =>
  parts.reduce((total, part) => total + part[of], 0);

/** The parts of a union, with each term once and all row ids as one set. */
function* unionParts(of: readonly Predicate[], reader: PostingReader): Steps<CompiledPredicate[]> {
  const [terms, rows, others] = [new Set<string>(), new Set<number>(), [] as Predicate[]];
  for (const part of flatten(of)) {
    if (part.kind === 'term') terms.add(part.term);
    else if (part.kind === 'rows') for (const row of part.rows) rows.add(row);
    else others.push(part);
  }
  return [
    ...(rows.size > 0 ? [compileRows(rows)] : []),
    ...(terms.size < LARGE_UNION
      ? yield* compileEach(
          [...terms].map((term) => ({ kind: 'term', term })),
          reader,
        )
      : [compileLargeUnion(yield* idsOf(terms, reader), reader)]),
    ...(yield* compileEach(others, reader)),
  ];
}

function* idsOf(terms: Iterable<string>, reader: PostingReader): Steps<Set<number>> {
  const ids = new Set<number>();
  for (const term of terms) {
    const id = reader.termId(term);
    if (id !== null) ids.add(id);
    yield 1;
  }
  return ids;
}

/** A union within a union is the same as its parts. */
function* flatten(of: readonly Predicate[]): Generator<Predicate> {
  for (const part of of) {
    if (part.kind === 'any') yield* flatten(part.of);
    else yield part;
  }
}

function union(parts: readonly CompiledPredicate[]): CompiledPredicate {
  const [first, ...more] = parts;
  if (first === undefined) return MATCHES_NOTHING;
  if (more.length === 0) return first;
  return {
    rowEstimate: sum(parts, 'rowEstimate'),
    blockCost: sum(parts, 'blockCost'),
    probeCost: sum(parts, 'probeCost'),
    *addTo(block, into, among) {
      for (const part of parts) yield* part.addTo(block, into, among);
    },
    matches: (row, terms) => parts.some((part) => part.matches(row, terms)),
  };
}

/** A union of many terms, such as all places in a circle, whose rows become one bitmap. */
function compileLargeUnion(ids: ReadonlySet<number>, reader: PostingReader): CompiledPredicate {
  if (ids.size === 0) return MATCHES_NOTHING;
  const step = Math.ceil(ids.size / SAMPLE);
  const sample = [...ids].filter((_id, index) => index % step === 0).map((id) => reader.sizeOf(id));
  const extrapolate = (of: 'rowEstimate' | 'blocks'): number =>
    (sample.reduce((total, list) => total + list[of], 0) * ids.size) / sample.length;
  // Read on first use: a search with few rows left never needs it.
  let rows: ReadonlyMap<number, Bitmap> | null = null;
  return {
    rowEstimate: extrapolate('rowEstimate'),
    blockCost: ids.size + extrapolate('blocks'),
    probeCost: LARGE_UNION_PROBES,
    *addTo(block, into) {
      rows ??= yield* reader.readUnion(Uint32Array.from(ids).sort());
      const found = rows.get(block);
      if (found !== undefined) or(into, found);
      yield 1;
    },
    matches(_row, has) {
      for (let i = 0; i < has.length; i++) if (ids.has(has[i] ?? -1)) return true;
      return false;
    },
  };
}

function intersection(first: CompiledPredicate, rest: readonly CompiledPredicate[]): CompiledPredicate {
  const [found, more] = [emptyBitmap(BLOCK), emptyBitmap(BLOCK)];
  return {
    rowEstimate: Math.min(first.rowEstimate, ...rest.map(({ rowEstimate }) => rowEstimate)),
    blockCost: first.blockCost + sum(rest, 'blockCost'),
    probeCost: first.probeCost + sum(rest, 'probeCost'),
    *addTo(block, into, among) {
      found.fill(0);
      yield* first.addTo(block, found, among);
      for (const part of rest) {
        if (isEmptyBitmap(found)) return;
        more.fill(0);
        yield* part.addTo(block, more, found);
        and(found, more);
      }
      or(into, found);
    },
    matches: (row, terms) => first.matches(row, terms) && rest.every((part) => part.matches(row, terms)),
  };
}

/** The rows of `among` that do not match; every row of `among` exists. @param rowCount estimate of all rows */
function complement(part: CompiledPredicate, rowCount: number): CompiledPredicate {
  const found = emptyBitmap(BLOCK);
  return {
    ...part,
    rowEstimate: Math.max(0, rowCount - part.rowEstimate),
    *addTo(block, into, among) {
      found.fill(0);
      yield* part.addTo(block, found, among);
      for (let i = 0; i < found.length; i++) into[i] = (into[i] ?? 0) | ((among[i] ?? 0) & ~(found[i] ?? 0));
    },
    matches: (row, terms) => !part.matches(row, terms),
  };
}
