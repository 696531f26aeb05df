/** All places of people, in memory by cells of one degree. So a circle is compared with the places around it, and not with every place. */
import type { Steps } from '../../util/steps.ts';
import type { Circle } from '../records/filter-value.ts';
import { extentOf, isWithin } from './great-circle.ts';
import type { PostingReader } from './posting-reader.ts';

const PREFIX = 'place=';
/** Terms of places that are read in one step. */
const TERMS_A_STEP = 500;
const [ROWS, COLUMNS] = [180, 360];
/** Comparing this many places with a circle takes one unit of work. */
const PLACES_A_UNIT = 50;

/** By cell: of each place latitude, longitude and the id of its term, one after another. Objects would take four times the memory. */
type Cells = ReadonlyMap<number, readonly number[]>;
const NUMBERS_A_PLACE = 3;

export class PlaceGrid {
  readonly #people: PostingReader;
  #cells: Cells | null = null;

  constructor(people: PostingReader) {
    this.#people = people;
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#cells = null;
  }

  /** Ids of the terms of the places within any of the circles, each once. */
  *within(circles: readonly Circle[]): Steps<number[]> {
    const cells = (this.#cells ??= yield* this.#read());
    const found = new Set<number>();
    for (const circle of circles)
      for (const row of rowsOf(circle)) {
        let compared = 0;
        for (const cell of row) {
          const places = cells.get(cell) ?? [];
          compared += places.length / NUMBERS_A_PLACE;
          for (let at = 0; at < places.length; at += NUMBERS_A_PLACE)
            if (isWithin(places[at] ?? 0, places[at + 1] ?? 0, circle)) found.add(places[at + 2] ?? 0);
        }
        yield Math.ceil(compared / PLACES_A_UNIT);
      }
    return [...found];
  }

  /** Not counted as work: the result is cached. */
  *#read(): Steps<Cells> {
    const cells = new Map<number, number[]>();
    for (let after: string | null = null; ;) {
      const terms = this.#people.termsAfter(PREFIX, after, TERMS_A_STEP);
      for (const [term, id] of terms) {
        const [lat = NaN, lng = NaN] = term.slice(PREFIX.length).split(',').map(Number);
        const cell = cellOf(lat, lng);
        const places = cells.get(cell);
        if (places === undefined) cells.set(cell, [lat, lng, id]);
        else places.push(lat, lng, id);
      }
      yield 0;
      if (terms.length < TERMS_A_STEP) return cells;
      after = terms.at(-1)?.[0] ?? null;
    }
  }
}

/** A cell for places that no map has: each circle is compared with them. */
const OFF_THE_MAP = -1;

function cellOf(lat: number, lng: number): number {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) return OFF_THE_MAP;
  return rowOf(lat) * COLUMNS + columnOf(lng);
}

function rowOf(lat: number): number {
  return Math.max(0, Math.min(ROWS - 1, Math.floor(lat) + ROWS / 2));
}

/** Longitudes repeat every 360 degrees. */
function columnOf(lng: number): number {
  return (((Math.floor(lng) + COLUMNS / 2) % COLUMNS) + COLUMNS) % COLUMNS;
}

/** The cells that may have places of a circle, row by row. */
function* rowsOf(circle: Circle): Generator<number[]> {
  const extent = extentOf(circle);
  yield [OFF_THE_MAP];
  const [west, count] = [
    Math.floor(circle.lng - extent.lng),
    Math.floor(circle.lng + extent.lng) - Math.floor(circle.lng - extent.lng) + 1,
  ];
  const columns = Array.from({ length: Math.min(COLUMNS, count) }, (_, index) => columnOf(west + index));
  for (let row = rowOf(circle.lat - extent.lat); row <= rowOf(circle.lat + extent.lat); row++)
    yield columns.map((column) => row * COLUMNS + column);
}
