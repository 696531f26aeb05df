/** A service whose store has the people that the lookups look for. */
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { makeStore, serveStore, type Reply, type Served } from '../harness.ts';

const ADA = {
  id: 'pe_a',
  email: 'ada@acme.example',
  emails: ['ada@home.example'],
  name: 'Ada Éxample',
  linkedin_url: 'https://www.linkedin.com/in/ada-example',
  mobile: '+12125550100',
  email_status: 'verified',
  email_confidence: 97,
  company_domain: 'acme.example',
};

export async function serveLookups(): Promise<Served> {
  const store = await makeStore((open) => {
    loadPeople(
      open,
      [
        ADA,
        { id: 'pe_t1', email: 'tim1@acme.example', name: 'Tim Twin', company_domain: 'acme.example' },
        { id: 'pe_t2', email: 'tim2@acme.example', name: 'Tim Twin', company_domain: 'acme.example' },
        {
          id: 'pe_dead',
          email: 'dee@acme.example',
          name: 'Dee Dead',
          email_status: 'bounced',
          email_verified_at: new Date(Date.now() - 86_400_000).toISOString(),
          company_domain: 'acme.example',
        },
        { id: 'pe_b', name: 'Bare', linkedin_url: 'linkedin.com/in/bare' },
      ],
      'test',
    );
  });
  return serveStore({ store });
}

/** The value of `X-Credits-Charged`. */
export const charged = ({ headers }: Reply): string | null => headers.get('x-credits-charged');
