/** Evidence of the store about addresses: deliveries, bounces, and the address pattern of a domain. */
import { CoalescingCache } from '../../verification/dns/coalescing-cache.ts';
import { learnPattern, type NamedAddress } from '../../verification/pattern.ts';
import type { DomainEvidence, EvidenceSource } from '../../verification/types.ts';
import type { Store } from '../store/store.ts';

/** People whose addresses are looked at for one domain. */
const MAX_PEOPLE = 200;
/** For how long what was learnt of a domain holds: one look serves a batch. */
const LEARNT_MS = 60_000;
const MAX_DOMAINS = 10_000;

/**
 * The evidence of `source`, and for domains whose pattern nobody has told, the one that the store's people at that domain agree on.
 * @param clock monotonic, milliseconds.
 */
export function withLearntPatterns(source: EvidenceSource, store: Store, clock: () => number): EvidenceSource {
  const people = store.prepare(
    'SELECT email, doc FROM people WHERE company_domain = ? AND email IS ' +
      "NOT NULL AND email_status IS NOT 'bounced' ORDER BY seq DESC LIMIT ?",
  );
  const learnt = new CoalescingCache<DomainEvidence>(clock, MAX_DOMAINS);
  const learn = (domain: string): DomainEvidence => {
    const told = source.domain(domain);
    if (told !== null && told.emailPattern !== null) return told;
    const named = people.all(domain, MAX_PEOPLE).flatMap((row) => namedAddress(row, domain) ?? []);
    return { acceptsAll: told?.acceptsAll ?? null, emailPattern: learnPattern(named) };
  };
  return {
    mailbox: (email) => source.mailbox(email),
    domain(domain) {
      const kept = learnt.peek(domain);
      if (kept !== undefined) return kept;
      const evidence = learn(domain);
      learnt.put(domain, evidence, LEARNT_MS);
      return evidence;
    },
  };
}

/** Null for an address of another domain, or a person without names. */
function namedAddress({ email, doc }: Readonly<Record<string, unknown>>, domain: string): NamedAddress | null {
  const [local = '', host] = String(email).split('@');
  const { first_name: first, last_name: last } = JSON.parse(String(doc)) as { readonly first_name?: unknown; readonly last_name?: unknown };
  return host === domain && typeof first === 'string' && typeof last === 'string' ? { local, first, last } : null;
}
