/** Sort keys of people and companies, and the writer of their columns. */
import type { SparseRecord } from '../../records/whole-record.ts';
import type { Store } from '../store.ts';
import { recordWrite } from './change-detector.ts';
import { ColumnWriter } from './sort-columns.ts';
import { idPrefixes, namePrefixes } from './text-prefixes.ts';

/** The orders of a search. */
export const SORTS = ['relevance', 'updated_at', 'name', 'headcount'] as const;
export type Sort = (typeof SORTS)[number];

/** The key of an unknown headcount, which comes before all known ones. */
export const NO_HEADCOUNT = -1;

/** Keys of one person. The headcount is the employer's, and stored with it. */
export interface SortKeys {
  /** Breaks ties. */
  readonly id: string;
  /** Normalised. */
  readonly name: string;
  readonly rank: number;
  /** Epoch milliseconds. */
  readonly updatedMs: number;
}

/** The key of `relevance`, 0 to 100: people with a certain way to reach them first, then the most complete records. */
export function rankOf(person: SparseRecord): number {
  const reach =
    (person['email_status'] === 'verified' ? 40 : typeof person['email'] === 'string' ? 15 : 0) +
    (typeof person['mobile'] === 'string' ? 20 : 0);
  const confidence = typeof person['email_confidence'] === 'number' ? Math.max(0, Math.min(100, person['email_confidence'])) / 10 : 0;
  let known = 0;
  for (const field in person) if (person[field] !== undefined) known++;
  return Math.round(reach + confidence + Math.min(30, known));
}

/** Collects the sort keys of a transaction. */
export interface SortWriter {
  /** @param keys null when the person is erased */
  person(seq: number, keys: SortKeys | null): void;
  /** @param employees null when unknown */
  company(number: number, employees: number | null): void;
  /** To be called within the transaction of the changes. */
  flush(): void;
}

export function sortWriter(store: Store): SortWriter {
  const [times, ranks] = [new ColumnWriter(store, 'person_times'), new ColumnWriter(store, 'person_ranks')];
  const names = [new ColumnWriter(store, 'person_name_heads'), new ColumnWriter(store, 'person_name_tails')];
  const ids = [new ColumnWriter(store, 'person_id_heads'), new ColumnWriter(store, 'person_id_tails')];
  const sizes = new ColumnWriter(store, 'company_sizes');
  return {
    person(seq, keys) {
      times.change(seq, keys?.updatedMs ?? null);
      ranks.change(seq, keys?.rank ?? null);
      const [name, id] = keys === null ? [[], []] : [namePrefixes(keys.name), idPrefixes(keys.id)];
      for (const part of [0, 1]) {
        names[part]?.change(seq, name[part] ?? null);
        ids[part]?.change(seq, id[part] ?? null);
      }
    },
    company: (number, employees) => sizes.change(number, employees),
    flush() {
      // Every write of a person or company comes through here.
      recordWrite(store);
      for (const column of [times, ranks, ...names, ...ids, sizes]) column.flush();
    },
  };
}
