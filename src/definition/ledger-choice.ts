/** Chooses the ledger for a command without a job, by its flag or variable alone. */
import type { RunDay } from './expand.ts';
import { envLayer, flagLayer, type FlagValue } from './layers.ts';
import { expandLedgerUri } from './ledger-uri.ts';

interface LedgerSources {
  readonly env: NodeJS.ProcessEnv;
  /** As typed, without the leading `--`. Only the names in `LEDGER_FLAGS`. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly day: RunDay;
}

/** The keys of a job that name its ledger and limit the age of its answers. */
export const LEDGER_FLAGS: readonly string[] = ['ledger', 'ledger.maxAgeDays'];

/** A flag wins over the environment. Null when neither names a ledger. @throws UsageError for a bad flag, ConfigError for a bad variable */
export function chooseLedger({ env, flags, day }: LedgerSources): { readonly uri: string; readonly maxAgeDays: number } | null {
  const merged = new Map([...envLayer(env, []), ...flagLayer(flags)]);
  const uri = merged.get('ledger.uri');
  if (typeof uri?.value !== 'string') return null;
  return { uri: expandLedgerUri(uri.value, uri.origin, { ...day, env }), maxAgeDays: Number(merged.get('ledger.maxAgeDays')?.value ?? 0) };
}
