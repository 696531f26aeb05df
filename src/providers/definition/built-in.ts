/** The definition `millrace` as it was compiled when Millrace was built: a job with one service loads no parser for it. */
import { isObject } from '../../util/is-object.ts';
import type { CompiledProvider, Mapping } from '../compiled-provider.ts';
import compiled from './millrace.json' with { type: 'json' };

/** The specification's service, whose typed client does what the definition says. */
export const BUILT_IN = withMappings(compiled) as CompiledProvider;

/** Mappings are parsed when one is evaluated, which the typed client never does. */
function withMappings(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMappings);
  if (!isObject(value)) return value;
  const { key, text } = value;
  if (typeof key === 'string' && typeof text === 'string') return parsedLater(key, text);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMappings(member)]));
}

function parsedLater(key: string, text: string): Mapping {
  const evaluate = async (input: unknown): Promise<unknown> => {
    const { compileMapping } = await import('../mapping.ts');
    return compileMapping(key, text, '').evaluate(input);
  };
  return { key, text, evaluate };
}

/** The text of `millrace.json`. @param definition compiled from `jobs/providers/millrace.yaml` */
export function builtInText(definition: CompiledProvider): string {
  return `${JSON.stringify({ ...definition, file: 'jobs/providers/millrace.yaml' })}\n`;
}
