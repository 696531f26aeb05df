/** What a one-off call needs of a job's definition: which service is asked, how fast, and how patiently. From flags and environment alone. */
import type { CompiledJob } from '../types.ts';
import { compileService, merge, nest } from './compile-job.ts';
import { SHORT_FLAGS } from './flags.ts';
import { KEYS } from './keys.ts';
import { envLayer, flagLayer, unknownFlag, type FlagValue } from './layers.ts';
import { jobSchema } from './schema.ts';
import { dropReplacedChoices } from './service-choice.ts';

export interface OneOffSettings {
  readonly service: CompiledJob['service'];
  readonly limits: Pick<CompiledJob['limits'], 'maxCalls' | 'maxWaitMs' | 'maxOutageMs'>;
  readonly verify: Pick<CompiledJob['verify'], 'patienceMs'>;
}

/** Somebody may be waiting at a terminal: shorter than a job's. */
const MAX_OUTAGE_MS = 10_000;
const PATHS = ['limits.maxCalls', 'limits.maxWaitMs', 'limits.maxOutageMs'];
/** Of `verify` alone. */
const PATIENCE = 'verify.patienceMs';
/** One quota for several runs is a matter of jobs. */
const isServiceKey = (path: string): boolean => path.startsWith('service.') && path !== 'service.quota';

/** @param own flags of the command itself. @throws UsageError for a flag that is neither of these nor one that says whom to ask and how */
export function checkOneOffFlags(step: 'enrich' | 'verify', flags: ReadonlyMap<string, FlagValue>, own: readonly string[]): void {
  const paths = [...KEYS.map(({ path }) => path).filter(isServiceKey), ...PATHS, ...(step === 'verify' ? [PATIENCE] : [])];
  const known = [...own, ...paths.map((path) => SHORT_FLAGS[path] ?? path)];
  // Entries of maps have names of their own: service.regions.us.
  for (const flag of flags.keys()) if (!known.includes(flag) && !isServiceKey(flag)) throw unknownFlag(flag, known);
}

/**
 * A flag wins over the environment.
 * @param flags those that `checkOneOffFlags` let pass, without the command's own
 * @throws UsageError for a flag, ConfigError for a variable, or where no service is chosen
 */
export function chooseOneOff(env: NodeJS.ProcessEnv, flags: ReadonlyMap<string, FlagValue>): { settings: OneOffSettings; warnings: string[] } {
  const warnings: string[] = [];
  const layers = [envLayer(env, warnings), flagLayer(flags)];
  dropReplacedChoices(layers);
  const merged = merge(layers);
  const raw = jobSchema.parse(nest(merged));
  const { maxCalls, maxWaitMs, maxOutageMs } = raw.limits;
  return {
    settings: {
      service: { ...compileService(raw, (path) => merged.get(path)?.origin ?? null, warnings), quota: null },
      limits: { maxCalls, maxWaitMs, maxOutageMs: merged.has('limits.maxOutageMs') ? maxOutageMs : MAX_OUTAGE_MS },
      verify: { patienceMs: raw.verify.patienceMs },
    },
    warnings,
  };
}
