/** Under which scope of the ledger each kind of lookup is kept: what changes an answer must change the scope. Pure. */

/** A number for (step, options), from `Ledger.scope`. */
type ScopeOf = (step: string, options: string) => number;

export interface LookupScopes {
  readonly email: number;
  readonly domain: number;
  readonly verify: number;
  readonly company: number;
  readonly reveal: number;
}

/** @param domainField the field name for a domain in /v1/enrich. A service that does not know the field answers with misses. */
export function lookupScopes(scopeOf: ScopeOf, domainField: string): LookupScopes {
  return {
    email: scopeOf('enrich', 'by email'),
    domain: scopeOf('enrich', domainField === 'domain' ? 'by domain' : `by domain as ${domainField}`),
    verify: scopeOf('verify', ''),
    company: scopeOf('company', 'by domain'),
    reveal: scopeOf('reveal', 'by linkedin_url'),
  };
}
