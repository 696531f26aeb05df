/** Under which scope of the ledger each kind of lookup is kept: what changes an answer must change the scope. Pure. */
import type { StepOptions } from '../definition/step-options.ts';
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { KEYS, kindOfSource, sourcesNamed, type KeyKind } from '../steps/keys.ts';
import { eachStep, kindsOf, specOf, type ByStep, type Step } from '../steps/registry.ts';

/** A number for (step, options), from `Ledger.scope`. */
type ScopeOf = (step: string, options: string) => number;

/**
 * The scopes of the lookups at one provider, by step and kind of key. Lookups that the job never makes have none. `ticket`: of tickets that
 * several lookups share.
 */
export type LookupScopes = ByStep<Readonly<Partial<Record<KeyKind | 'ticket', number>>>>;

type OptionsByStep = Readonly<Record<Step, Pick<StepOptions, 'by' | 'minLikelihood' | 'required'>>>;

const NONE = { minLikelihood: 0, required: [] };
const USUAL: OptionsByStep = eachStep(({ usual }) => ({ by: usual, ...NONE }));

/**
 * The scopes of the specification's service.
 * @param domainField the field name for a domain in /v1/enrich. A service that does not know the field answers with misses.
 */
export function lookupScopes(scopeOf: ScopeOf, domainField: string, options: OptionsByStep = USUAL): LookupScopes {
  return eachStep(({ name, keys, usual, serviceScope, hasDomainField }) => {
    const own = options[name];
    const field = hasDomainField && domainField !== 'domain' ? `domain as ${domainField}` : 'domain';
    return numbersOf(sourcesNamed([...new Set([...usual, ...own.by])], keys).map(kindOfSource), (kind) =>
      scopeOf(name, serviceScope ?? `${KEYS[kind].scope.replace(/\bdomain$/, field)}${optionsText(own)}`),
    );
  });
}

/** The scopes of a declared provider. A definition that asks for something else has other ones, so that the ledger asks anew. */
export function declaredScopes(
  scopeOf: ScopeOf,
  { requestDigests, operations }: Pick<CompiledProvider, 'requestDigests' | 'operations'>,
  options: OptionsByStep,
): LookupScopes {
  const scopes = Object.entries(requestDigests).map(([name, digest]) => {
    const text = `${optionsText(options[name])}, asked as ${digest.slice(0, 16)}`;
    const own = numbersOf(kindsOf(specOf(name)), (kind) => scopeOf(name, `${KEYS[kind].scope}${text}`));
    return [name, operations[name]?.batch?.poll === undefined ? own : { ...own, ticket: scopeOf(name, `tickets${text}`) }];
  });
  return Object.fromEntries(scopes) as LookupScopes;
}

function numbersOf(kinds: readonly KeyKind[], numberOf: (kind: KeyKind) => number): Readonly<Partial<Record<KeyKind, number>>> {
  return Object.fromEntries(kinds.map((kind) => [kind, numberOf(kind)]));
}

function optionsText({ minLikelihood, required }: Pick<StepOptions, 'minLikelihood' | 'required'> = NONE): string {
  return (minLikelihood === 0 ? '' : `, likelihood ${minLikelihood}`) + (required.length === 0 ? '' : `, with ${required.join(' ')}`);
}
