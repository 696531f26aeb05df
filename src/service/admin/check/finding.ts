/** The findings of a check. */

/** How to repair it: from a backup, by rebuilding from the records, or not at all. */
type Remedy = 'backup' | 'rebuild' | 'none';

export interface Finding {
  /** Stable, for scripts. */
  readonly code:
    | 'file_damaged'
    | 'file_cut'
    | 'records_damaged'
    | 'index_damaged'
    | 'search_damaged'
    | 'batch_files_damaged'
    | 'rows_without_owner'
    | 'left_over';
  /** The table of the finding; null when it is about none in particular. */
  readonly table: string | null;
  /** One sentence. */
  readonly detail: string;
  /** The affected records, files or indexes: the first `MAX_NAMES`. */
  readonly names: readonly string[];
  /** The number of affected items; null when unknown. */
  readonly count: number | null;
  readonly remedy: Remedy;
}

export const MAX_NAMES = 100;

/** Collects names, and keeps only the first ones. */
export class Names {
  count = 0;
  readonly names: string[] = [];

  add(name: string): void {
    this.count++;
    if (this.names.length < MAX_NAMES) this.names.push(name);
  }
}

/** Whether a finding is damage. A leftover is not. */
export function isDamageFinding({ remedy }: Finding): boolean {
  return remedy !== 'none';
}
