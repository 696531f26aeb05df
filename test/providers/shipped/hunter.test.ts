/** The definition of Hunter against its pages' answers, and against a stand-in that was written from the same pages. */
import { describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { startHunter } from '../stand-ins/hunter.ts';
import type { StandIn, StandInOptions } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { askOne, clientOf, inWords, keysOf, recordedBy, recordOf, replay, toldBy } from './shipped.ts';

const NAME = 'hunter';
const RECORDED = recordedBy(NAME);

describe('an answer that the pages show', () => {
  const VERDICTS: Readonly<Record<string, string>> = {
    'verify: a valid address': 'deliverable valid 100',
    'verify: an invalid address (the status list; fields as in the example)': 'undeliverable invalid 0',
    'verify: an accept-all address (the status list; fields as in the example)': 'risky accept_all 70',
    'verify: a webmail address with the fixed score': 'risky webmail 50',
    'verify: a disposable address with the fixed score': 'risky disposable 50',
    'verify: a failed verification is unknown (the status list; fields as in the example)': 'unknown unknown 0',
    'verify: an unexpected response of the mail server (the page shows no body)': 'unknown unexpected_mail_server_response null',
  };
  const WORDS: Readonly<Record<string, string>> = {
    'verify: a verification in progress (the page shows no body)': 'pending',
    'verify: a missing email': 'refused wrong_params',
    'verify: an invalid email': 'refused invalid_email',
    'verify: a claimed email': 'suppressed',
    'reveal: a found email': 'match',
    'reveal: no found email (the page shows no miss)': 'miss',
    'reveal: a missing parameter': 'refused wrong_params',
    'reveal: an invalid domain': 'refused invalid_domain',
    'reveal: a claimed email of the finder': 'suppressed',
    'enrich: a found person': 'match',
    'enrich: no person': 'miss',
    'enrich: no person and no company': 'miss',
    'company: a found company': 'match',
    'company: no company': 'miss',
    'verify: no valid key (the body as customers saw it)': 'denied authentication_failed',
    'verify: a reached rate limit (the page shows no body)': 'wait',
    'reveal: a reached usage limit (the body as a customer saw it)': 'out of credits',
  };
  /** The definition does not ask the endpoint that joins a person and a company. */
  const NOT_ASKED = ['enrich: a found person with the company'];

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()].toSorted()).toEqual([...Object.keys(VERDICTS), ...Object.keys(WORDS), ...NOT_ASKED].toSorted());
  });

  it.each(Object.keys(WORDS))('%s', async (name) => {
    expect((await replay(NAME, RECORDED.get(name) as never)).map(inWords)).toEqual([WORDS[name]]);
  });

  it.each(Object.keys(VERDICTS))('%s', async (name) => {
    const recorded = RECORDED.get(name);
    const [result] = await replay(NAME, recorded as never);
    const { email, result: verdict, reason, confidence } = recordOf(result) as Record<string, unknown>;
    expect(`${String(verdict)} ${String(reason)} ${String(confidence)}`).toBe(VERDICTS[name]);
    expect(email).toBe(recorded?.lookups[0]?.['email']);
  });

  it('a verdict keeps what the vendor says of an address', async () => {
    const [result] = await replay(NAME, RECORDED.get('verify: a valid address') as never);
    expect(recordOf(result)).toMatchObject({ status: 'valid', smtp_check: true, accept_all: false, webmail: false, block: false });
  });

  it('a match has the record of a found address', async () => {
    const [result] = await replay(NAME, RECORDED.get('reveal: a found email') as never);
    expect(recordOf(result)).toEqual({
      email: 'ada@example.com',
      email_confidence: 97,
      email_status: 'valid',
      verified: true,
      first_name: 'Ada',
      last_name: 'Example',
      name: 'Ada Example',
      title: 'Engineer',
      company: { name: 'Example Works', domain: 'example.com' },
    });
  });

  it('a match has the record of a person', async () => {
    const [result] = await replay(NAME, RECORDED.get('enrich: a found person') as never);
    expect(recordOf(result)).toEqual({
      email: 'ada@example.com',
      name: 'Ada Example',
      first_name: 'Ada',
      last_name: 'Example',
      title: 'Chief Executive Officer',
      seniority: 'executive',
      department: 'executive',
      linkedin_url: 'https://www.linkedin.com/in/ada-example',
      twitter_url: 'https://twitter.com/ada-example',
      time_zone: 'America/New_York',
      location: { city: 'Springfield', region: 'Massachusetts', country: 'United States' },
      company: { name: 'Example Works', domain: 'example.com' },
    });
  });

  it('a match has the record of a company', async () => {
    const [result] = await replay(NAME, RECORDED.get('company: a found company') as never);
    expect(recordOf(result)).toMatchObject({
      name: 'Example Works',
      domain: 'example.com',
      employees_range: '11-50',
      industry: 'Internet Software & Services',
      founded_year: 2015,
      stack: ['cloudflare', 'http-3'],
      linkedin_url: 'https://www.linkedin.com/company/example-works',
    });
  });

  it('an answer of another shape is refused, and no miss', async () => {
    expect(await toldBy(NAME, 'enrich', { email: 'a@b.example' }, { person: { id: 'a' } })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'reveal', { name: 'a b', domain: 'b.example' }, { data: { address: 'a@b.example' } })).toBe(
      'refused bad_shape',
    );
    expect(await toldBy(NAME, 'company', { domain: 'b.example' }, { company: { id: 'a' } })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'verify', { email: 'a@b.example' }, { data: { email: 'a@b.example', state: 'valid' } })).toBe(
      'refused bad_shape',
    );
  });

  it('a usage limit that says when to come back is a wait', async () => {
    const spent = RECORDED.get('reveal: a reached usage limit (the body as a customer saw it)');
    const response = { ...spent?.response, headers: { ...spent?.response.headers, 'retry-after': '7' } };
    expect((await replay(NAME, { ...spent, response } as never)).map(inWords)).toEqual(['wait 7 s']);
  });
});

describe('against the stand-in', () => {
  async function open(options: StandInOptions = {}): Promise<StandIn & { readonly base: string }> {
    const standIn = await startHunter(options);
    cleanUp(() => standIn.close());
    return Object.assign(standIn, { base: `${standIn.url}/v2` });
  }

  it.each(['email', 'linkedin_url'])('a person is found by %s', async (key) => {
    const standIn = await open();
    const { email, title, company, domain, firstName, lastName } = personOf(7);
    const result = await askOne(await clientOf(NAME, standIn.base), 'enrich', keysOf(7)[key] ?? {});
    expect(recordOf(result)).toMatchObject({
      email,
      name: `${firstName} ${lastName}`,
      title,
      linkedin_url: 'https://www.linkedin.com/in/person-7',
      company: { name: company, domain },
    });
    expect([result.meta.credits, standIn.counts.charged]).toEqual([0.2, 0.2]);
  });

  it.each(['linkedin_url', 'name+domain', 'name+company'])('an address is found by %s', async (key) => {
    const standIn = await open();
    const result = await askOne(await clientOf(NAME, standIn.base), 'reveal', keysOf(7)[key] ?? {});
    expect(recordOf(result)).toMatchObject({ email: personOf(7).email, title: personOf(7).title });
    expect([result.meta.credits, standIn.counts.charged]).toEqual([1, 1]);
  });

  it('a name of one word is sent whole', async () => {
    const standIn = await open();
    await askOne(await clientOf(NAME, standIn.base), 'reveal', { name: 'cher', domain: personOf(7).domain });
    expect([...(standIn.calls[0]?.query.entries() ?? [])]).toContainEqual(['full_name', 'cher']);
  });

  it('an old form of profile is refused, and not sent as another profile', async () => {
    const standIn = await open();
    const result = await askOne(await clientOf(NAME, standIn.base), 'enrich', { linkedin_url: 'https://linkedin.com/pub/ada/1/2/3' });
    expect([inWords(result), standIn.counts.charged]).toEqual(['refused wrong_params', 0]);
  });

  it('a lookup that the vendor cannot answer is a miss, and free', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    const results = [
      await askOne(client, 'enrich', { email: 'nobody@elsewhere.example' }),
      await askOne(client, 'reveal', { name: 'no body', domain: 'elsewhere.example' }),
      await askOne(client, 'company', { domain: 'elsewhere.example' }),
    ];
    expect(results.map((result) => [inWords(result), result.meta.credits])).toEqual(results.map(() => ['miss', 0]));
    expect(standIn.counts.charged).toBe(0);
  });

  it('companies are found by their domain', async () => {
    const standIn = await open();
    const { company, domain } = personOf(41);
    const result = await askOne(await clientOf(NAME, standIn.base), 'company', { domain });
    expect(recordOf(result)).toMatchObject({ name: company, domain });
    expect([result.meta.credits, standIn.counts.charged]).toEqual([0.2, 0.2]);
  });

  it('addresses have the verdicts of the world, and cost what was charged', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    let credits = 0;
    for (let i = 0; i < 8; i += 1) {
      const result = await askOne(client, 'verify', { email: personOf(i).email });
      expect(recordOf(result)).toMatchObject({ email: personOf(i).email, result: personOf(i).verdict });
      credits += result.meta.credits;
    }
    expect(credits).toBe(standIn.counts.charged);
    expect(credits).toBeGreaterThan(0);
  });

  it('a verification in progress is asked for again by the same request', async () => {
    const standIn = await open();
    standIn.hook = () => ({ status: 202, body: { data: {}, meta: {} } });
    const client = await clientOf(NAME, standIn.base);
    const body = client.verifyBody([personOf(1).email]);
    const first = await client.callVerify(body);
    expect(first).toMatchObject({ kind: 'pending', afterMs: 5_000, longestMs: 600_000, meta: { credits: 0 } });
    standIn.hook = null;
    expect(await client.callVerify(body, { ticket: first.kind === 'pending' ? first.ticket : '' })).toMatchObject({ kind: 'ok' });
    expect(standIn.calls.map(({ query }) => query.get('email'))).toEqual([personOf(1).email, personOf(1).email]);
  });

  it('a wrong key is refused', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base, 'wrong');
    for (const step of ['enrich', 'verify'] as const)
      expect(inWords(await askOne(client, step, { email: personOf(1).email }))).toBe('denied authentication_failed');
  });

  it('a window that is used up is a wait, for each endpoint of its own', async () => {
    const standIn = await open({ windows: [{ name: 'minute', limit: 2 }] });
    const client = await clientOf(NAME, standIn.base);
    const words = [];
    for (let i = 0; i < 3; i += 1) words.push(inWords(await askOne(client, 'verify', { email: personOf(i).email })));
    words.push(inWords(await askOne(client, 'enrich', { email: personOf(1).email })));
    expect(words).toEqual(['match', 'match', 'wait', 'match']);
  });

  it('credits that are used up are told', async () => {
    const standIn = await open({ credits: 1 });
    const client = await clientOf(NAME, standIn.base);
    const words = [];
    for (let i = 0; i < 2; i += 1) words.push(inWords(await askOne(client, 'reveal', keysOf(i)['name+domain'] ?? {})));
    expect(words).toEqual(['match', 'out of credits']);
  });
});
