/** Which ledger is meant where no job is: by its flag or its variable alone. */
import { envLayer, flagLayer, type FlagValue } from './layers.ts';
import { expandLedgerUri } from './ledger-uri.ts';

export interface LedgerSources {
  readonly env: NodeJS.ProcessEnv;
  /** As typed, without the leading `--`: none but those in `LEDGER_FLAGS`. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  /** What `{date}` stands for, YYYY-MM-DD. */
  readonly date: string;
}

/** The keys of a job that say which ledger it has, and how long its answers are good. */
export const LEDGER_FLAGS: readonly string[] = ['ledger', 'ledger.maxAgeDays'];

/**
 * A flag wins over the environment. Null: neither names a ledger.
 * @throws UsageError for a flag and ConfigError for a variable that cannot be
 */
export function chooseLedger({ env, flags, date }: LedgerSources): { readonly uri: string; readonly maxAgeDays: number } | null {
  const merged = new Map([...envLayer(env, []), ...flagLayer(flags)]);
  const uri = merged.get('ledger.uri');
  if (typeof uri?.value !== 'string') return null;
  return { uri: expandLedgerUri(uri.value, uri.origin, { date, env }), maxAgeDays: Number(merged.get('ledger.maxAgeDays')?.value ?? 0) };
}
