/** Under which scope of the ledger each kind of lookup is kept: what changes an answer must change the scope. Pure. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import { USUAL_KEYS } from '../definition/steps.ts';

/** A number for (step, options), from `Ledger.scope`. */
type ScopeOf = (step: string, options: string) => number;

/** The first five belong to enrich, by its key. Reveal has one for each of its keys. */
export interface LookupScopes {
  readonly email: number;
  readonly domain: number;
  readonly linkedin_url: number;
  readonly phone: number;
  readonly name: number;
  readonly verify: number;
  readonly company: number;
  readonly reveal: number;
  readonly revealByEmail: number;
  readonly revealByPhone: number;
  readonly revealByName: number;
  readonly revealByCompany: number;
}

/** The keys of a job's lookups, and options that change an answer. */
type Lookups = Pick<CompiledJob, 'enrich' | 'reveal'>;

const USUAL: Lookups = { enrich: { by: USUAL_KEYS.enrich, minLikelihood: 0, required: [] }, reveal: { by: USUAL_KEYS.reveal } };
/** The scope of lookups that the job never makes. */
const UNUSED = -1;

/** @param domainField the field name for a domain in /v1/enrich. A service that does not know the field answers with misses. */
export function lookupScopes(scopeOf: ScopeOf, domainField: string, lookups: Lookups = USUAL): LookupScopes {
  const { by, minLikelihood, required } = lookups.enrich;
  const domain = domainField === 'domain' ? 'domain' : `domain as ${domainField}`;
  const options =
    (minLikelihood === 0 ? '' : `, likelihood ${minLikelihood}`) + (required.length === 0 ? '' : `, with ${required.join(' ')}`);
  const enrich = (key: string): number => scopeOf('enrich', `by ${key}${options}`);
  const revealed = (isUsed: boolean, key: string): number => (isUsed ? scopeOf('reveal', `by ${key}`) : UNUSED);
  const reveals = lookups.reveal.by;
  return {
    email: enrich('email'),
    domain: enrich(domain),
    linkedin_url: by.includes('linkedin_url') ? enrich('linkedin_url') : UNUSED,
    phone: by.includes('phone') ? enrich('phone') : UNUSED,
    name: by.includes('name') ? enrich(`name and ${domain}`) : UNUSED,
    verify: scopeOf('verify', ''),
    company: scopeOf('company', 'by domain'),
    reveal: revealed(true, 'linkedin_url'),
    revealByEmail: revealed(reveals.includes('email'), 'email'),
    revealByPhone: revealed(reveals.includes('phone'), 'phone'),
    revealByName: revealed(reveals.includes('name'), 'name and domain'),
    revealByCompany: revealed(reveals.includes('name'), 'name and company'),
  };
}
