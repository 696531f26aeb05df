/** What a check finds. */

/** What mends it: a backup, nothing but the records that are there, or nobody has to. */
export type Remedy = 'backup' | 'rebuild' | 'none';

export interface Finding {
  /** Stable, for scripts. */
  readonly code: 'file_damaged' | 'file_cut' | 'records_damaged' | 'index_damaged' | 'search_damaged' | 'batch_files_damaged' | 'rows_without_owner' | 'left_over';
  /** The table it is about; null: none in particular. */
  readonly table: string | null;
  /** One sentence. */
  readonly detail: string;
  /** Records, files or indexes that are concerned, the first `MAX_NAMES`. */
  readonly names: readonly string[];
  /** How many there are; null: that cannot be known. */
  readonly count: number | null;
  readonly remedy: Remedy;
}

export const MAX_NAMES = 100;

/** Collects names, and keeps the first of them. */
export class Names {
  count = 0;
  readonly names: string[] = [];

  add(name: string): void {
    this.count++;
    if (this.names.length < MAX_NAMES) this.names.push(name);
  }
}

/** Whether a finding is damage; what is left over is none. */
export function isDamageFinding({ remedy }: Finding): boolean {
  return remedy !== 'none';
}
