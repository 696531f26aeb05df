/** Under which scope of the ledger each kind of lookup is kept: what changes an answer must change the scope. Pure. */
import type { StepOptions } from '../definition/step-options.ts';
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { KEYS, kindsNamed, type KeyKind } from '../steps/keys.ts';
import { eachStep, kindsOf, type Step } from '../steps/registry.ts';

/** A number for (step, options), from `Ledger.scope`. */
type ScopeOf = (step: string, options: string) => number;

/**
 * The scopes of the lookups at one provider, by step and kind of key. Lookups that the job never makes have none. `ticket`: of tickets that
 * several lookups share.
 */
export type LookupScopes = Readonly<Record<Step, Readonly<Partial<Record<KeyKind | 'ticket', number>>>>>;

type OptionsByStep = Readonly<Record<Step, Pick<StepOptions, 'by' | 'minLikelihood' | 'required'>>>;

const USUAL: OptionsByStep = eachStep(({ usual }) => ({ by: usual, minLikelihood: 0, required: [] }));

/**
 * The scopes of the specification's service.
 * @param domainField the field name for a domain in /v1/enrich. A service that does not know the field answers with misses.
 */
export function lookupScopes(scopeOf: ScopeOf, domainField: string, options: OptionsByStep = USUAL): LookupScopes {
  return eachStep(({ name, keys, usual, serviceScope, hasDomainField }) => {
    const own = options[name];
    const field = hasDomainField && domainField !== 'domain' ? `domain as ${domainField}` : 'domain';
    return numbersOf(kindsNamed([...new Set([...usual, ...own.by])], keys), (kind) =>
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
  return eachStep((spec) => {
    const { name } = spec;
    const digest = requestDigests[name];
    if (digest === undefined) return {};
    const text = `${optionsText(options[name])}, asked as ${digest.slice(0, 16)}`;
    const scopes = numbersOf(kindsOf(spec), (kind) => scopeOf(name, `${KEYS[kind].scope}${text}`));
    return operations[name]?.batch?.poll === undefined ? scopes : { ...scopes, ticket: scopeOf(name, `tickets${text}`) };
  });
}

function numbersOf(kinds: readonly KeyKind[], numberOf: (kind: KeyKind) => number): Readonly<Partial<Record<KeyKind, number>>> {
  return Object.fromEntries(kinds.map((kind) => [kind, numberOf(kind)]));
}

function optionsText({ minLikelihood, required }: Pick<StepOptions, 'minLikelihood' | 'required'>): string {
  return (minLikelihood === 0 ? '' : `, likelihood ${minLikelihood}`) + (required.length === 0 ? '' : `, with ${required.join(' ')}`);
}
