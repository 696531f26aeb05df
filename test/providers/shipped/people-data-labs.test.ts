/** The definition of People Data Labs against its pages' answers, and against a stand-in that was written from the same pages. */
import { beforeEach, describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { startPeopleDataLabs } from '../stand-ins/people-data-labs.ts';
import type { StandIn } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { askOne, askTogether, clientOf, inWords, keysOf, recordedBy, recordOf, replay, shipped, toldBy } from './shipped.ts';

const NAME = 'people-data-labs';
const RECORDED = recordedBy(NAME);
/** The vendor writes each word with a capital. */
const likeTitle = (text: string): unknown => expect.stringMatching(new RegExp(`^${text}$`, 'i'));

describe('an answer that the pages show', () => {
  const WORDS: Readonly<Record<string, string | readonly string[]>> = {
    'enrich: a match': 'match',
    'enrich: a match with rate headers as the page prints them': 'match',
    'enrich: a match whose fields are null': 'match',
    'enrich: a miss': 'miss',
    'enrich: invalid parameters': 'refused invalid_request_error',
    'enrich: a wrong key': 'denied authentication_error',
    'enrich: no credits left': 'out of credits',
    'enrich: a wrong method': 'refused invalid_request_error',
    'enrich: too many requests': 'wait',
    'enrich: an error of the server': 'retry api_error',
    'enrich: a batch of two matches': ['match', 'match'],
    'enrich: a batch with a miss, whose error has the form of a single request': ['match', 'miss'],
    'company: a company': 'match',
    'company: an unknown company': 'miss',
    // Without metadata a company is found by its domain, and one that was not found has none.
    'company: a batch of companies': ['match', 'left out'],
  };

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()]).toEqual(Object.keys(WORDS));
  });

  it.each([...RECORDED])('%s', async (name, recorded) => {
    expect((await replay(NAME, recorded)).map(inWords)).toEqual([WORDS[name]].flat());
  });

  it('a match has the record of a person', async () => {
    const [result] = await replay(NAME, RECORDED.get('enrich: a match') as never);
    expect(recordOf(result)).toEqual({
      email: 'person@example.com',
      personal_emails: ['person@example.org'],
      name: 'example person',
      first_name: 'example',
      last_name: 'person',
      title: 'tax adviser',
      seniority: 'vp',
      mobile: '+15555550100',
      linkedin_url: 'https://www.linkedin.com/in/example-person',
      location: { country: 'united states' },
      company: { name: 'example company', domain: 'example.com', employees_range: '51-200', industry: 'wireless' },
      likelihood: 100,
    });
  });

  it('a person without contact fields still has a record', async () => {
    const [result] = await replay(NAME, RECORDED.get('enrich: a match whose fields are null') as never);
    expect(recordOf(result)).toMatchObject({ name: 'second person', title: 'analyst', likelihood: 60 });
    expect(recordOf(result)).not.toHaveProperty('company');
  });

  it('a match has the record of a company', async () => {
    const [result] = await replay(NAME, RECORDED.get('company: a company') as never);
    expect(recordOf(result)).toMatchObject({
      name: 'Example Company',
      domain: 'example.com',
      employees: 83,
      employees_range: '51-200',
      revenue: '$50M-$100M',
      industry: 'computer software',
      founded_year: 2015,
      linkedin_url: 'https://www.linkedin.com/company/example-company',
      hq: { city: 'san francisco', region: 'california', country: 'united states' },
    });
  });

  it('an answer of another shape is refused, and no miss', async () => {
    expect(await toldBy(NAME, 'enrich', { email: 'a@b.example' }, { status: 200, likelihood: 9, person: {} })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'enrich', { email: 'a@b.example' }, { status: 200, data: { full_name: ['a'] } })).toBe('refused bad_shape');
    expect(await toldBy(NAME, 'company', { domain: 'b.example' }, { status: 200, data: { id: 'a' } })).toBe('refused bad_shape');
  });

  it('a contact field that says only whether it is known has no value', async () => {
    const data = { full_name: 'a b', work_email: true, personal_emails: true, mobile_phone: true, phone_numbers: true, linkedin_url: true };
    const response = { status: 200, headers: {}, body: { status: 200, likelihood: 2, data } };
    const [result] = await replay(NAME, { name: '', operation: 'enrich', lookups: [{ email: 'a@b.example' }], response });
    expect(recordOf(result)).toEqual({ name: 'a b', likelihood: 20 });
  });

  it('an answer states its window, also where the other windows are None', async () => {
    const recorded = RECORDED.get('company: a company');
    const printed = RECORDED.get('enrich: a match with rate headers as the page prints them');
    const [result] = await replay(NAME, { ...recorded, response: { ...recorded?.response, headers: printed?.response.headers } } as never);
    // Companies are counted by their batches, so ask for one of those.
    expect(result?.meta.quota).toBeNull();
    const batch = RECORDED.get('company: a batch of companies');
    const url = { ...batch, response: { ...batch?.response, headers: printed?.response.headers } };
    const [of] = await replay(NAME, url as never);
    expect(of?.meta.quota).toMatchObject({ plan: { limit: 1201, remaining: 1200, reset: { form: 'date' } }, windows: [] });
  });
});

describe('against the stand-in', () => {
  let standIn: StandIn;
  const start = async (options: Parameters<typeof startPeopleDataLabs>[0] = {}): Promise<void> => {
    standIn = await startPeopleDataLabs(options);
    cleanUp(() => standIn.close());
  };
  const baseUrl = (): string => `${standIn.url}/v5`;

  beforeEach(() => start());

  it.each(['email', 'linkedin_url', 'phone', 'name+domain', 'name+company'])('a person is found by %s', async (key) => {
    const { email, title, company, domain, firstName, lastName, linkedinUrl } = personOf(7);
    const result = await askOne(await clientOf(NAME, baseUrl()), 'enrich', keysOf(7)[key] ?? {});
    expect(recordOf(result)).toMatchObject({
      email,
      name: `${firstName} ${lastName}`,
      title: likeTitle(title),
      linkedin_url: linkedinUrl,
      company: { name: company, domain },
    });
    expect([result.meta.credits, standIn.counts.charged]).toEqual([1, 1]);
  });

  it('a person that it lacks is a miss, and free', async () => {
    const result = await askOne(await clientOf(NAME, baseUrl()), 'enrich', { email: 'nobody@elsewhere.example' });
    expect([inWords(result), result.meta.credits, standIn.counts.charged]).toEqual(['miss', 0, 0]);
  });

  it('a full batch brings each person to its lookup', async () => {
    const size = (await shipped(NAME)).operations.enrich?.batch?.size ?? 0;
    const kinds = ['email', 'linkedin_url', 'phone', 'name+domain', 'name+company'];
    const lookups = Array.from({ length: size }, (_, index) =>
      index % 7 === 3 ? { email: `nobody-${index}@elsewhere.example` } : (keysOf(index)[kinds[index % 5] ?? ''] ?? {}),
    );
    const results = await askTogether(await clientOf(NAME, baseUrl()), 'enrich', lookups);
    expect(results.map((result) => (result.kind === 'ok' ? (recordOf(result) as { email: string }).email : inWords(result)))).toEqual(
      lookups.map((_, index) => (index % 7 === 3 ? 'miss' : personOf(index).email)),
    );
    expect([size, standIn.counts.requests, standIn.counts.charged]).toEqual([50, 1, size - 7]);
  });

  it('the credits of a batch are those that were charged', async () => {
    const client = await clientOf(NAME, baseUrl());
    const bodies = [personOf(1).email, 'nobody@elsewhere.example', personOf(2).email].map((email) => client.enrichBody({ email }));
    expect((await client.batches?.call('enrich', bodies))?.meta.credits).toBe(2);
    expect(standIn.counts.charged).toBe(2);
  });

  it('companies are found alone and in a batch', async () => {
    const client = await clientOf(NAME, baseUrl());
    const { company, domain, employees } = personOf(41);
    expect(recordOf(await askOne(client, 'company', { domain }))).toMatchObject({ name: company, domain, employees });
    expect(inWords(await askOne(client, 'company', { domain: 'elsewhere.example' }))).toBe('miss');
    const results = await askTogether(client, 'company', [{ domain }, { domain: 'elsewhere.example' }, { domain: personOf(0).domain }]);
    expect(results.map(inWords)).toEqual(['match', 'miss', 'match']);
    expect(standIn.counts.charged).toBe(3);
  });

  it('a wrong key is refused', async () => {
    expect(inWords(await askOne(await clientOf(NAME, baseUrl(), 'wrong'), 'enrich', { email: 'a@b.example' }))).toBe(
      'denied authentication_error',
    );
  });

  it('a window that is used up is a wait, and its headers say until when', async () => {
    await start({ windows: [{ name: 'minute', limit: 2 }] });
    const client = await clientOf(NAME, baseUrl());
    const bodies = [client.enrichBody({ email: personOf(1).email })];
    const results = [];
    for (let i = 0; i < 3; i += 1) results.push(await client.batches?.call('enrich', bodies));
    expect(results.map((result) => result?.kind)).toEqual(['ok', 'ok', 'throttled']);
    expect(results[1]?.meta.quota).toMatchObject({ plan: { limit: 2, remaining: 0, reset: { form: 'date' } } });
    expect(standIn.counts).toMatchObject({ refused429: 1, charged: 2 });
  });

  it('credits that are used up are told', async () => {
    await start({ credits: 1 });
    const client = await clientOf(NAME, baseUrl());
    const results = [
      await askOne(client, 'enrich', { email: personOf(1).email }),
      await askOne(client, 'enrich', { email: personOf(2).email }),
    ];
    expect(results.map(inWords)).toEqual(['match', 'out of credits']);
  });

  it('a match that is less likely than the job wants, or lacks a field that it wants, is a miss', async () => {
    await start({ fields: () => ['email', 'firstName', 'lastName'] });
    const client = await clientOf(NAME, baseUrl());
    expect(inWords(await askOne(client, 'enrich', { email: personOf(1).email }))).toBe('match');
    const body = (required: string): string => JSON.stringify({ email: personOf(1).email, required: [required], min_likelihood: 15 });
    expect(await client.callEnrich(body('email'))).toMatchObject({ kind: 'ok' });
    expect(await client.callEnrich(body('title'))).toMatchObject({ kind: 'miss' });
    expect(standIn.calls.at(-1)?.body).toMatchObject({ required: 'job_title', min_likelihood: 2 });
  });
});
