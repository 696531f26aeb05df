/** One step of the store's schema. */
import type { Store } from '../store.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** What SQL alone cannot do; run when the tables of all steps are there. */
  readonly run?: (store: Store) => void;
}
