/** The definition of FullEnrich against its pages' answers, and against a stand-in that was written from the same pages. */
import { describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import { startFullEnrich } from '../stand-ins/fullenrich.ts';
import type { StandIn } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { askTogether, clientOf, inWords, keysOf, recordedBy, recordOf, replay } from './shipped.ts';

const NAME = 'fullenrich';
const RECORDED = recordedBy(NAME);
const FINISHED = 'enrich: a finished batch (no page shows a contact of whom nothing is found)';

describe('an answer that the pages show', () => {
  const WORDS: Readonly<Record<string, readonly string[]>> = {
    'enrich: a batch that was taken': ['pending'],
    [FINISHED]: ['match', 'miss'],
    'enrich: a batch in progress': ['pending'],
    // The first 404 may come from a gateway.
    'enrich: a batch that nobody knows any more': ['pending'],
    'enrich: a batch without credits (the page shows no body)': ['out of credits'],
    'enrich: a batch that was canceled (the status list; fields as in the example)': ['refused CANCELED'],
    'enrich: a batch without a last name': ['refused error.enrichment.last_name.empty'],
    'enrich: a batch with an unknown key': ['denied error.api.key'],
    'enrich: a batch over the rate': ['wait 60 s'],
    'reveal: a batch of reveal that was taken': ['pending'],
  };

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()].toSorted()).toEqual(Object.keys(WORDS).toSorted());
  });

  it.each(Object.keys(WORDS))('%s', async (name) => {
    expect((await replay(NAME, RECORDED.get(name) as never)).map(inWords)).toEqual(WORDS[name]);
  });

  it('a match has the record of a contact', async () => {
    const [result] = await replay(NAME, RECORDED.get(FINISHED) as never);
    expect(recordOf(result)).toEqual({
      email: 'ada@example.com',
      email_status: 'DELIVERABLE',
      name: 'Ada Example',
      first_name: 'Ada',
      last_name: 'Example',
      title: 'Head of Sales Operations',
      headline: 'Head of Sales Operations at Example Works',
      linkedin_url: 'https://www.linkedin.com/in/ada-example',
      company: { name: 'Example Works', domain: 'example.com', employees: 250 },
    });
  });
});

describe('against the stand-in', () => {
  async function open(options: Parameters<typeof startFullEnrich>[0] = {}): Promise<StandIn & { readonly base: string }> {
    const standIn = await startFullEnrich(options);
    cleanUp(() => standIn.close());
    return Object.assign(standIn, { base: `${standIn.url}/api/v2` });
  }

  it('people are found by profile and by name, and a stranger is a miss that costs nothing', async () => {
    const standIn = await open();
    const client = await clientOf(NAME, standIn.base);
    const lookups = [keysOf(3)['linkedin_url'], keysOf(4)['name+domain'], { name: 'no body', domain: 'nowhere.example' }] as never[];
    const [promise] = await askTogether(client, 'reveal', lookups);
    expect(promise).toMatchObject({ kind: 'pending', ticket: 'enrichment-1', afterMs: 60_000 });
    const found = await askTogether(client, 'reveal', lookups, 'enrichment-1');
    expect(found.map(inWords)).toEqual(['match', 'match', 'miss']);
    expect(recordOf(found[0])).toMatchObject({ email: personOf(3).email, title: personOf(3).title });
    expect(standIn.counts).toMatchObject({ requests: 2, lookups: 3, charged: 2 });
  });

  it('a batch that is not ready is asked about again, and one that the vendor forgot is lost at the second 404', async () => {
    const standIn = await open({ takesMs: 3_600_000 });
    const client = await clientOf(NAME, standIn.base);
    const lookups = [keysOf(3)['linkedin_url'], keysOf(4)['linkedin_url']] as never[];
    await askTogether(client, 'enrich', lookups);
    expect((await askTogether(client, 'enrich', lookups, 'enrichment-1')).map(inWords)).toEqual(['pending']);
    expect((await askTogether(client, 'enrich', lookups, 'unknown')).map(inWords)).toEqual(['pending']);
    expect((await askTogether(client, 'enrich', lookups, 'unknown')).map(inWords)).toEqual(['refused ticket_lost']);
  });

  it('used-up credits end the job, and a wrong key does', async () => {
    const standIn = await open({ credits: 1 });
    const client = await clientOf(NAME, standIn.base);
    const lookups = [keysOf(3)['linkedin_url'], keysOf(4)['linkedin_url']] as never[];
    await askTogether(client, 'enrich', lookups);
    expect((await askTogether(client, 'enrich', lookups, 'enrichment-1')).map(inWords)).toEqual(['out of credits']);
    const other = await clientOf(NAME, standIn.base, 'wrong');
    expect((await askTogether(other, 'enrich', lookups)).map(inWords)).toEqual(['denied error.api.key']);
  });
});
