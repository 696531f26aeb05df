/** Jobs that name providers, for tests that send nothing. */
import { compileJob } from '../../src/definition/compile-job.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import type { CompiledProvider } from '../../src/providers/compiled-provider.ts';
import { compileProvider } from '../../src/providers/definition/compile-provider.ts';
import { sources, type Flags } from '../definition/support.ts';

const QUOTA = { plans: { pro: ['600/minute'] } };
const LOOKUP = { keys: ['email', 'domain'], request: { path: '/people', query: { email: 'email', domain: 'domain' } }, record: 'body' };
/** Operations that take an address or a domain, a credit a match. */
export const OPERATIONS = {
  enrich: LOOKUP,
  verify: { request: { path: '/verify', query: { email: 'email' } }, record: '{"result": body.result}' },
  company: { request: { path: '/companies', query: { domain: 'domain' } }, record: 'body' },
};

/** A definition with these keys beside the usual ones. */
export function definition(name: string, more: Readonly<Record<string, unknown>> = {}): CompiledProvider {
  const value = { name, baseUrl: `https://${name}.example`, quota: QUOTA, defaultPlan: 'pro', operations: OPERATIONS, ...more };
  return compileProvider({ file: `${name}.yaml`, value, places: new Map() });
}

interface JobOfProviders {
  readonly steps: readonly unknown[];
  /** Their settings in the job, by name. */
  readonly providers: Readonly<Record<string, object>>;
  /** More keys of their definitions, by name. */
  readonly definitions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly flags?: Flags;
}

export function jobOf({ steps, providers, definitions = {}, flags = {} }: JobOfProviders): CompiledJob {
  const names = Object.keys(providers);
  return compileJob({
    ...sources({ file: { steps, providers }, flags: { input: 'in.csv', output: 'out.csv', ...flags } }),
    definitions: new Map(names.map((name) => [name, definition(name, definitions[name])])),
  }).job;
}
