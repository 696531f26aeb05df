/** Under which scope of the ledger each kind of lookup is kept: what changes an answer must change the scope. Pure. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import { USUAL_KEYS, type LookupKind } from '../definition/steps.ts';
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import type { RevealLookup } from './lookup-keys.ts';

/** A number for (step, options), from `Ledger.scope`. */
type ScopeOf = (step: string, options: string) => number;

/** The scopes of the lookups at one provider. */
export interface LookupScopes {
  readonly enrich: Readonly<Record<LookupKind, number>>;
  readonly verify: number;
  readonly company: number;
  readonly reveal: Readonly<Record<RevealLookup['by'], number>>;
}

/** The keys of a job's lookups, and options that change an answer. */
type Lookups = Pick<CompiledJob, 'enrich' | 'reveal'>;

const USUAL: Lookups = { enrich: { by: USUAL_KEYS.enrich, minLikelihood: 0, required: [] }, reveal: { by: USUAL_KEYS.reveal } };
/** The scope of lookups that the job never makes. */
const UNUSED = -1;

/**
 * The scopes of the specification's service.
 * @param domainField the field name for a domain in /v1/enrich. A service that does not know the field answers with misses.
 */
export function lookupScopes(scopeOf: ScopeOf, domainField: string, lookups: Lookups = USUAL): LookupScopes {
  const { by } = lookups.enrich;
  const domain = domainField === 'domain' ? 'domain' : `domain as ${domainField}`;
  const options = optionsText(lookups);
  const enrich = (key: string): number => scopeOf('enrich', `by ${key}${options}`);
  const revealed = (isUsed: boolean, key: string): number => (isUsed ? scopeOf('reveal', `by ${key}`) : UNUSED);
  const reveals = lookups.reveal.by;
  return {
    enrich: {
      email: enrich('email'),
      domain: enrich(domain),
      linkedin_url: by.includes('linkedin_url') ? enrich('linkedin_url') : UNUSED,
      phone: by.includes('phone') ? enrich('phone') : UNUSED,
      name: by.includes('name') ? enrich(`name and ${domain}`) : UNUSED,
      company: UNUSED,
    },
    verify: scopeOf('verify', ''),
    company: scopeOf('company', 'by domain'),
    reveal: {
      linkedin_url: revealed(true, 'linkedin_url'),
      email: revealed(reveals.includes('email'), 'email'),
      phone: revealed(reveals.includes('phone'), 'phone'),
      name: revealed(reveals.includes('name'), 'name and domain'),
      company: revealed(reveals.includes('name'), 'name and company'),
    },
  };
}

/** The scopes of a declared provider. A definition that asks for something else has other ones, so that the ledger asks anew. */
export function declaredScopes(
  scopeOf: ScopeOf,
  { requestDigests }: Pick<CompiledProvider, 'requestDigests'>,
  lookups: Lookups,
): LookupScopes {
  const scope = (step: keyof CompiledProvider['requestDigests'], what: string): number => {
    const digest = requestDigests[step];
    return digest === undefined ? UNUSED : scopeOf(step, `${what}, asked as ${digest.slice(0, 16)}`);
  };
  const options = optionsText(lookups);
  const by = (step: 'enrich' | 'reveal', key: string): number => scope(step, `by ${key}${step === 'enrich' ? options : ''}`);
  const people = (step: 'enrich' | 'reveal'): LookupScopes['reveal'] => ({
    email: by(step, 'email'),
    linkedin_url: by(step, 'linkedin_url'),
    phone: by(step, 'phone'),
    name: by(step, 'name and domain'),
    company: by(step, 'name and company'),
  });
  return {
    enrich: { ...people('enrich'), domain: by('enrich', 'domain') },
    verify: scope('verify', 'by email'),
    company: scope('company', 'by domain'),
    reveal: people('reveal'),
  };
}

function optionsText({ enrich: { minLikelihood, required } }: Lookups): string {
  return (minLikelihood === 0 ? '' : `, likelihood ${minLikelihood}`) + (required.length === 0 ? '' : `, with ${required.join(' ')}`);
}
