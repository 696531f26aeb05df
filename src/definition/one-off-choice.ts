/** The definition of a one-off call, from flags and environment alone: the service, its pace, and the limits on waiting. */
import type { CompiledJob, JobProvider } from './compiled-job.ts';
import { compileService } from './compile-service.ts';
import { mergeLayers, nestPaths } from './merge-layers.ts';
import { SHORT_FLAGS } from './flags.ts';
import { KEYS } from './keys.ts';
import { envLayer, flagLayer, unknownFlag, type FlagValue } from './layers.ts';
import { jobSchema } from './schema.ts';
import { dropReplacedChoices } from './service-choice.ts';
import type { Step } from '../steps/registry.ts';

export interface OneOffSettings {
  readonly service: JobProvider;
  readonly limits: Pick<CompiledJob['limits'], 'maxCalls' | 'maxWaitMs' | 'maxOutageMs'>;
  readonly verify: { readonly patienceMs: number };
}

/** Milliseconds. Shorter than for a job, because a person may wait at a terminal. */
const MAX_OUTAGE_MS = 10_000;
const PATHS = ['limits.maxCalls', 'limits.maxWaitMs', 'limits.maxOutageMs'];
/** The limit on waiting for a verdict, for `verify` only. */
const VERDICT_WAIT = 'verify.patienceMs';
/** A shared quota applies to jobs only. */
const isServiceKey = (path: string): boolean => path.startsWith('service.') && path !== 'service.quota';

/** @param own flags of the command itself. @throws UsageError for a flag that neither belongs to the command nor configures the service */
export function checkOneOffFlags(step: Step, flags: ReadonlyMap<string, FlagValue>, own: readonly string[]): void {
  const paths = [...KEYS.map(({ path }) => path).filter(isServiceKey), ...PATHS, ...(step === 'verify' ? [VERDICT_WAIT] : [])];
  const known = [...own, ...paths.map((path) => SHORT_FLAGS[path] ?? path)];
  // Entries of maps have names of their own: service.regions.us.
  for (const flag of flags.keys()) if (!known.includes(flag) && !isServiceKey(flag)) throw unknownFlag(flag, known);
}

/**
 * A flag wins over the environment. @param flags that passed `checkOneOffFlags`, without the command's own
 * @throws UsageError for a flag; ConfigError for a variable, or without a service
 */
export function chooseOneOff(
  env: NodeJS.ProcessEnv,
  flags: ReadonlyMap<string, FlagValue>,
): { settings: OneOffSettings; warnings: string[] } {
  const warnings: string[] = [];
  const layers = [envLayer(env, warnings), flagLayer(flags)];
  dropReplacedChoices(layers);
  const merged = mergeLayers(layers);
  const raw = jobSchema.parse(nestPaths(merged));
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
