/** The definition of Dropcontact against its pages' answers, and against a stand-in that was written from the same pages. */
import { describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { startDropcontact } from '../stand-ins/dropcontact.ts';
import type { StandIn } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { askTogether, clientOf, inWords, keysOf, recordedBy, recordOf, replay } from './shipped.ts';

const NAME = 'dropcontact';
const RECORDED = recordedBy(NAME);
const FINISHED = 'enrich: a finished batch (the record as an older page shows it; no page shows one without an address)';

describe('an answer that the pages show', () => {
  const WORDS: Readonly<Record<string, readonly string[]>> = {
    'enrich: a batch that was taken': ['pending'],
    [FINISHED]: ['match', 'miss'],
    'enrich: a batch that is not ready, or unknown': ['pending'],
    'enrich: a batch of too many records': ['refused http_400'],
    'enrich: a batch without credits (the page shows no body)': ['out of credits'],
    'enrich: a batch without a key (the page shows no body)': ['denied http_401'],
    'enrich: a batch over the rate (the page shows no body)': ['wait'],
    'enrich: a batch that failed': ['retry http_500'],
    'reveal: a batch of reveal that was taken': ['pending'],
  };

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()].toSorted()).toEqual(Object.keys(WORDS).toSorted());
  });

  it.each(Object.keys(WORDS))('%s', async (name) => {
    expect((await replay(NAME, RECORDED.get(name) as never)).map(inWords)).toEqual(WORDS[name]);
  });

  it('a match has the record of a contact, and each lookup its cost', async () => {
    const [match, miss] = await replay(NAME, RECORDED.get(FINISHED) as never);
    expect(recordOf(match)).toEqual({
      email: 'ada@example.com',
      email_status: 'nominative@pro',
      name: 'Ada Example',
      first_name: 'Ada',
      last_name: 'Example',
      title: 'Customer Success Manager',
      linkedin_url: 'https://www.linkedin.com/in/ada-example',
      company: { name: 'Example Works', domain: 'www.example.com', employees_range: '202' },
    });
    expect([match?.meta.credits, miss?.meta.credits]).toEqual([1, 0]);
  });
});

describe('against the stand-in', () => {
  async function open(options: Parameters<typeof startDropcontact>[0] = {}): Promise<StandIn & { readonly base: string }> {
    const standIn = await startDropcontact(options);
    cleanUp(() => standIn.close());
    return Object.assign(standIn, { base: `${standIn.url}/v1` });
  }

  it('credits are taken with the request, and given back for a person who is not found', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    const lookups = [keysOf(3)['email'], keysOf(4)['name+domain'], { name: 'no body', domain: 'nowhere.example' }] as never[];
    const [promise] = await askTogether(client, 'enrich', lookups);
    expect(promise).toMatchObject({ kind: 'pending', ticket: 'request1', afterMs: 30_000, meta: { credits: 0 } });
    expect(standIn.counts.charged).toBe(3);
    const found = await askTogether(client, 'enrich', lookups, 'request1');
    expect(found.map(inWords)).toEqual(['match', 'match', 'miss']);
    expect(recordOf(found[0])).toMatchObject({ email: personOf(3).email, title: personOf(3).title });
    expect(standIn.counts.charged).toBe(2);
    expect(found.map(({ meta }) => meta.credits)).toEqual([1, 1, 0]);
  });

  it('results that are not ready are asked for again, and too few credits end the job', async () => {
    const standIn = await open({ takesMs: 3_600_000, credits: 2 });
    const client = await clientOf(NAME, standIn.base);
    const lookups = [keysOf(3)['linkedin_url'], keysOf(4)['linkedin_url']] as never[];
    await askTogether(client, 'reveal', lookups);
    expect((await askTogether(client, 'reveal', lookups, 'request1')).map(inWords)).toEqual(['pending']);
    expect((await askTogether(client, 'reveal', lookups)).map(inWords)).toEqual(['out of credits']);
  });
});
