/** What people are sorted by, and the columns in which it is kept. */
import type { SparseRecord } from '../records.ts';
import type { Store } from '../store/store.ts';
import { noteChange } from './changes.ts';
import { ColumnWriter } from './columns.ts';
import { idNumbers, nameNumbers } from './text-numbers.ts';

/** What one can sort by. */
export const SORTS = ['relevance', 'updated_at', 'name', 'headcount'] as const;
export type Sort = (typeof SORTS)[number];

/** Of somebody whose company's size is not known: before every headcount that is. */
export const NO_HEADCOUNT = -1;

/** Of one person; their headcount is that of where they work. */
export interface SortKeys {
  /** Breaks ties. */
  readonly id: string;
  /** Folded. */
  readonly name: string;
  readonly rank: number;
  /** Epoch milliseconds. */
  readonly updatedMs: number;
}

/** What `relevance` sorts by, 0 to 100: those who can be reached for certain, and of whom most is known, come first. */
export function rankOf(person: SparseRecord): number {
  const reach = (person['email_status'] === 'verified' ? 40 : typeof person['email'] === 'string' ? 15 : 0) + (typeof person['mobile'] === 'string' ? 20 : 0);
  const confidence = typeof person['email_confidence'] === 'number' ? Math.max(0, Math.min(100, person['email_confidence'])) / 10 : 0;
  let known = 0;
  for (const field in person) if (person[field] !== undefined) known++;
  return Math.round(reach + confidence + Math.min(30, known));
}

/** Collects what people and companies are sorted by during a transaction. */
export interface SortWriter {
  /** Null: the person is erased. */
  person(seq: number, keys: SortKeys | null): void;
  /** @param employees null: not known */
  company(number: number, employees: number | null): void;
  /** Within the transaction of the changes. */
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
      const [name, id] = keys === null ? [[], []] : [nameNumbers(keys.name), idNumbers(keys.id)];
      for (const part of [0, 1]) {
        names[part]?.change(seq, name[part] ?? null);
        ids[part]?.change(seq, id[part] ?? null);
      }
    },
    company: (number, employees) => sizes.change(number, employees),
    flush() {
      // Whoever is put or erased has come by here, and every company.
      noteChange(store);
      for (const column of [times, ranks, ...names, ...ids, sizes]) column.flush();
    },
  };
}
