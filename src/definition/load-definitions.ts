/** Loads the provider definitions that a job names. */
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { definitionsNamed, type JobSources } from './compile-job.ts';

/** The definitions by the names or paths that the job has. @throws ConfigError for a definition that cannot be found or used */
export async function loadDefinitions(sources: Pick<JobSources, 'file' | 'env' | 'flags'>): Promise<ReadonlyMap<string, CompiledProvider>> {
  const names = definitionsNamed(sources);
  if (names.length === 0) return new Map();
  // Loaded on demand, because most jobs ask one service.
  const [{ loadProvider }, { compileProvider }] = await Promise.all([
    import('../providers/definition/load-provider.ts'),
    import('../providers/definition/compile-provider.ts'),
  ]);
  const definitions = new Map<string, CompiledProvider>();
  for (const name of names) definitions.set(name, compileProvider(await loadProvider(name)));
  return definitions;
}
