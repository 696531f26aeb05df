/** The definition of Apollo against its pages' answers, and against a stand-in that was written from the same pages. */
import { describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { startApollo } from '../stand-ins/apollo.ts';
import type { StandIn, StandInOptions } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { askOne, askTogether, clientOf, inWords, keysOf, recordedBy, recordOf, replay, shipped, toldBy } from './shipped.ts';

const NAME = 'apollo';
const RECORDED = recordedBy(NAME);

describe('an answer that the pages show', () => {
  const WORDS: Readonly<Record<string, string | readonly string[]>> = {
    'enrich: a match': 'match',
    'enrich: a match on a free plan, which has three windows': 'match',
    'enrich: a match without an address': 'match',
    'enrich: a miss: a 200 without a record': 'miss',
    'enrich: a wrong key': 'denied http_401',
    'enrich: a key without the endpoint in its scope': 'denied API_INACCESSIBLE',
    'enrich: too many requests': 'wait 1800 s',
    'enrich: no credits left, as the pages of conversations show it': 'out of credits',
    'enrich: a batch of two matches': ['match', 'match'],
    'enrich: a batch with a miss, which is null': ['match', 'miss'],
    'enrich: a batch without details': 'refused INVALID_REQUEST',
    'enrich: a batch of more than ten': 'refused RECORD_LIMIT_EXCEEDED',
    'enrich: a batch of the wrong form': 'refused UNKNOWN_ERROR',
    'enrich: too many batches': 'wait 1800 s',
    'company: an organization': 'match',
    'company: an organization without a key': 'refused http_422',
    'company: a key without organizations in its scope': 'denied API_INACCESSIBLE',
    'company: too many organizations': 'wait 1800 s',
  };
  /** The definition does not ask these endpoints; its comments say why. */
  const NOT_ASKED = [
    'company: a batch of organizations',
    'company: a batch without organizations, whose error is text',
    'company: a batch of more than ten organizations',
    'reveal: phones that are not found yet',
    'reveal: phones of an unknown request',
    'reveal: phones of an expired request',
    'reveal: phones',
  ];

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()]).toEqual([...Object.keys(WORDS), ...NOT_ASKED]);
  });

  it.each(Object.keys(WORDS))('%s', async (name) => {
    expect((await replay(NAME, RECORDED.get(name) as never)).map(inWords)).toEqual([WORDS[name]].flat());
  });

  it('a match has the record of a person', async () => {
    for (const name of ['enrich: a match', 'enrich: a batch of two matches']) {
      const [result] = await replay(NAME, RECORDED.get(name) as never);
      expect(recordOf(result)).toMatchObject({
        email: 'person@example.com',
        email_status: 'verified',
        verified: true,
        name: 'Example Person',
        title: 'VP of Sales Operations',
        linkedin_url: 'http://www.linkedin.com/in/example-person',
        location: { city: 'San Francisco', region: 'California', country: 'United States' },
        company: {
          name: 'Example Company',
          domain: 'example.com',
          employees: 1_600,
          revenue: '$100M',
          revenue_usd: 100_000_000,
          industry: 'information technology & services',
          founded_year: 2015,
          stack: ['AI'],
        },
      });
    }
  });

  it('a match has the record of a company', async () => {
    const [result] = await replay(NAME, RECORDED.get('company: an organization') as never);
    expect(recordOf(result)).toMatchObject({
      name: 'Example Company',
      domain: 'example.com',
      employees: 1_600,
      revenue: '$100M',
      stack: ['AI'],
    });
  });

  it('an answer of another shape is refused', async () => {
    expect(await toldBy(NAME, 'enrich', { email: 'a@b.example' }, { person: [{ name: 'a b' }] })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'enrich', { email: 'a@b.example' }, { person: { name: { first: 'a' } } })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'company', { domain: 'b.example' }, { organization: 'a' })).toBe('refused bad_shape');
  });

  it('an answer states the windows of the free plan', async () => {
    const free = RECORDED.get('enrich: a match on a free plan, which has three windows');
    const batch = RECORDED.get('enrich: a batch of two matches');
    const [result] = await replay(NAME, { ...batch, response: { ...batch?.response, headers: free?.response.headers } } as never);
    expect(result?.meta.quota?.windows.map(({ periodMs }) => periodMs / 60_000)).toEqual([1, 60, 1_440]);
  });
});

describe('against the stand-in', () => {
  async function open(options: StandInOptions = {}): Promise<StandIn & { readonly base: string }> {
    const standIn = await startApollo(options);
    cleanUp(() => standIn.close());
    return Object.assign(standIn, { base: `${standIn.url}/api/v1` });
  }

  describe.each(['enrich', 'reveal'] as const)('%s', (step) => {
    it.each(['email', 'linkedin_url', 'name+domain', 'name+company'])('a person is found by %s', async (key) => {
      const standIn = await open();
      const { email, title, company, domain, firstName, lastName, employees } = personOf(7);
      const result = await askOne(await clientOf(NAME, standIn.base), step, keysOf(7)[key] ?? {});
      expect(recordOf(result)).toMatchObject({
        email,
        name: `${firstName} ${lastName}`,
        title,
        linkedin_url: expect.stringMatching(/linkedin\.com\/in\/person-7$/) as unknown,
        company: { name: company, domain, employees },
      });
      expect([result.meta.credits, standIn.counts.charged]).toEqual([1, 1]);
    });

    it('a person that the vendor lacks is a miss, and free', async () => {
      const standIn = await open();
      const result = await askOne(await clientOf(NAME, standIn.base), step, { email: 'nobody@elsewhere.example' });
      expect([inWords(result), result.meta.credits, standIn.counts.charged]).toEqual(['miss', 0, 0]);
    });
  });

  it('a full batch brings each person to its lookup', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    const size = (await shipped(NAME)).operations.enrich?.batch?.size ?? 0;
    const kinds = ['email', 'linkedin_url', 'name+domain', 'name+company'];
    const lookups = Array.from({ length: size }, (_, index) =>
      index % 3 === 1 ? { email: `nobody-${index}@elsewhere.example` } : (keysOf(index)[kinds[index % 4] ?? ''] ?? {}),
    );
    const results = await askTogether(client, 'enrich', lookups);
    expect(results.map((result) => (result.kind === 'ok' ? (recordOf(result) as { email: string }).email : inWords(result)))).toEqual(
      lookups.map((_, index) => (index % 3 === 1 ? 'miss' : personOf(index).email)),
    );
    expect([size, standIn.counts.requests, standIn.counts.charged]).toEqual([10, 1, 7]);
    const bodies = lookups.slice(0, 3).map((lookup) => client.enrichBody(lookup as never));
    expect((await client.batches?.call('enrich', bodies))?.meta.credits).toBe(2);
    expect(standIn.counts.charged).toBe(9);
  });

  it.each([
    ['nobody', [{ email: 'nobody@elsewhere.example' }], ['miss']],
    ['one person', [{ email: personOf(3).email }], ['match']],
  ])('a batch of %s is one of one', async (_who, lookups, words) => {
    const standIn = await open();
    expect((await askTogether(await clientOf(NAME, standIn.base), 'enrich', lookups)).map(inWords)).toEqual(words);
  });

  it('companies are found by their domain', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    const { company, domain, employees } = personOf(41);
    const found = await askOne(client, 'company', { domain });
    expect(recordOf(found)).toMatchObject({ name: company, domain, employees });
    const missed = await askOne(client, 'company', { domain: 'elsewhere.example' });
    expect([inWords(missed), found.meta.credits + missed.meta.credits, standIn.counts.charged]).toEqual(['miss', 1, 1]);
  });

  it('a wrong key is refused', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base, 'wrong');
    for (const step of ['enrich', 'reveal'] as const)
      expect(inWords(await askOne(client, step, { email: personOf(1).email }))).toBe('denied http_401');
    expect(inWords(await askOne(client, 'company', { domain: 'a.example' }))).toBe('denied http_401');
  });

  it('a window that is used up is a wait of the seconds that it says', async () => {
    const standIn = await open({
      windows: [
        { name: 'minute', limit: 50 },
        { name: 'hour', limit: 2 },
      ],
    });
    const client = await clientOf(NAME, standIn.base);
    const words = [];
    for (let i = 0; i < 3; i += 1) words.push(inWords(await askOne(client, 'reveal', { email: personOf(i).email })));
    expect(words).toEqual(['match', 'match', expect.stringMatching(/^wait (?:3600|3599) s$/)]);
    expect(standIn.counts).toMatchObject({ refused429: 1, charged: 2 });
  });

  it('the windows of batches are stated by batches', async () => {
    const standIn = await open({
      windows: [
        { name: 'minute', limit: 20 },
        { name: 'hour', limit: 100 },
        { name: 'day', limit: 600 },
      ],
    });
    const client = await clientOf(NAME, standIn.base);
    const body = client.enrichBody({ email: personOf(1).email });
    expect((await client.batches?.call('enrich', [body]))?.meta.quota?.windows).toMatchObject([
      { periodMs: 60_000, limit: 20, remaining: 19 },
      { periodMs: 3_600_000, limit: 100, remaining: 99 },
      { periodMs: 86_400_000, limit: 600, remaining: 599 },
    ]);
    expect((await client.callEnrich(body)).meta.quota).toBeNull();
  });

  it('credits that are used up are told', async () => {
    const standIn = await open({ credits: 1 });
    const client = await clientOf(NAME, standIn.base);
    const words = [];
    for (let i = 0; i < 2; i += 1) words.push(inWords(await askOne(client, 'enrich', { email: personOf(i).email })));
    expect(words).toEqual(['match', 'out of credits']);
  });
});
