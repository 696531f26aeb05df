/** The definitions of ZeroBounce against its pages' answers, and against a stand-in that was written from the same pages. */
import { describe, expect, it } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';
import type { StandIn, StandInOptions } from '../stand-ins/stand-in.ts';
import { personOf } from '../stand-ins/world.ts';
import { startZeroBounce } from '../stand-ins/zerobounce.ts';
import { askOne, askTogether, clientOf, inWords, recordedBy, recordOf, replay, shipped, toldBy } from './shipped.ts';

const SINGLE = 'zerobounce';
const BATCH = 'zerobounce-batch';
const RECORDED = recordedBy('zerobounce');

describe('an answer that the pages show', () => {
  const VERDICTS: Readonly<Record<string, string>> = {
    'verify: a valid address': 'deliverable valid',
    'verify: an invalid address': 'undeliverable mailbox_not_found',
    'verify: a malformed address': 'undeliverable failed_syntax_check',
    'verify: status catch-all': 'risky catch-all',
    'verify: status unknown with sub_status mail_server_temporary_error': 'unknown mail_server_temporary_error',
    'verify: status unknown with sub_status greylisted': 'unknown greylisted',
    'verify: status spamtrap': 'risky spamtrap',
    'verify: status abuse': 'risky abuse',
    'verify: status do_not_mail with sub_status disposable': 'risky disposable',
    'verify: status do_not_mail with sub_status role_based': 'risky role_based',
    'verify: status do_not_mail with sub_status toxic': 'risky toxic',
  };
  const WORDS: Readonly<Record<string, string | readonly string[]>> = {
    'verify: an unknown key or no credits': 'denied http_200',
    'verify: a missing key': 'denied http_400',
    'verify: a batch of three': ['match', 'match', 'match'],
    'verify: a batch with an entry that has no address': 'match',
    "verify: a batch with an error for one address (the fields are the vendor's, the text is not)": ['match', 'left out'],
    'verify: a batch with an unknown key or no credits': 'denied http_200',
    'verify: a batch without email_batch': 'refused http_400',
    'verify: too many requests (the page shows no body)': 'wait 60 s',
    'verify: the API Shield refuses (the page shows no body)': 'retry http_403',
    'verify: an unknown path (the page shows no body)': 'wrong address',
    'verify: a wrong method (the page shows no body)': 'refused http_405',
  };
  const definitionOf = (name: string): string => (/\bbatch/.test(name) ? BATCH : SINGLE);

  it('every recorded answer is known to this test', () => {
    expect([...RECORDED.keys()]).toEqual([...Object.keys(VERDICTS), ...Object.keys(WORDS)]);
  });

  it.each(Object.keys(WORDS))('%s', async (name) => {
    expect((await replay(definitionOf(name), RECORDED.get(name) as never)).map(inWords)).toEqual([WORDS[name]].flat());
  });

  it.each(Object.keys(VERDICTS))('%s', async (name) => {
    const [result] = await replay(SINGLE, RECORDED.get(name) as never);
    const { result: verdict, reason } = recordOf(result) as Record<string, unknown>;
    expect(`${String(verdict)} ${String(reason)}`).toBe(VERDICTS[name]);
  });

  it('a verdict keeps what the vendor says of an address', async () => {
    const [result] = await replay(SINGLE, RECORDED.get('verify: status do_not_mail with sub_status toxic') as never);
    expect(recordOf(result)).toMatchObject({ status: 'do_not_mail', sub_status: 'toxic', free_email: false, mx_found: 'true' });
    expect(recordOf(result)).toMatchObject({ confidence: null });
    expect(recordOf(result)).not.toHaveProperty('firstname');
  });

  it('an answer of another shape is refused', async () => {
    expect(await toldBy(SINGLE, 'verify', { email: 'a@b.example' }, { address: 'a@b.example', state: 'valid' })).toBe('refused bad_shape');
    expect(await toldBy(BATCH, 'verify', { email: 'a@b.example' }, { batch: [] })).toBe('refused bad_shape');
  });

  it('a block of batches is a wait of ten minutes', async () => {
    const blocked = RECORDED.get('verify: too many requests (the page shows no body)');
    expect((await replay(BATCH, blocked as never)).map(inWords)).toEqual(['wait 600 s']);
  });

  it('a refused key and a spent balance have the words of the vendor', async () => {
    for (const name of ['verify: an unknown key or no credits', 'verify: a batch with an unknown key or no credits'])
      expect((await replay(definitionOf(name), RECORDED.get(name) as never))[0]).toMatchObject({
        detail: expect.stringMatching(/^Invalid API key or your account ran out of credits$/i) as unknown,
        keyVersion: 1,
      });
  });
});

describe('against the stand-in', () => {
  async function open(options: StandInOptions = {}): Promise<StandIn & { readonly base: string }> {
    const standIn = await startZeroBounce(options);
    cleanUp(() => standIn.close());
    return Object.assign(standIn, { base: `${standIn.url}/v2` });
  }

  it.each([SINGLE, BATCH])('addresses have the verdicts of the world, and cost what was charged: %s', async (name) => {
    const standIn = await open();
    const client = await clientOf(name, standIn.base);
    let credits = 0;
    for (let i = 0; i < 8; i += 1) {
      const result = await askOne(client, 'verify', { email: personOf(i).email });
      expect(recordOf(result)).toMatchObject({ email: personOf(i).email, result: personOf(i).verdict });
      credits += result.meta.credits;
    }
    // Person 7 is unknown, which costs nothing.
    expect([credits, standIn.counts.charged]).toEqual([7, 7]);
  });

  it('a full batch brings each verdict to its address', async () => {
    const standIn = await open();
    const client = await clientOf(BATCH, standIn.base);
    const size = (await shipped(BATCH)).operations.verify?.batch?.size ?? 0;
    const people = Array.from({ length: size }, (_, index) => personOf(index));
    const results = await askTogether(
      client,
      'verify',
      people.map(({ email }) => ({ email })),
    );
    expect(results.map((result) => (recordOf(result) as { result: string }).result)).toEqual(people.map(({ verdict }) => verdict));
    const credits = results.reduce((sum, { meta }) => sum + meta.credits, 0);
    expect([size, standIn.counts.requests, credits]).toEqual([100, 1, standIn.counts.charged]);
  });

  it('the key of a batch travels in its body alone', async () => {
    const standIn = await open();
    await askTogether(await clientOf(BATCH, standIn.base), 'verify', [{ email: personOf(1).email }, { email: personOf(2).email }]);
    expect(standIn.calls[0]).toMatchObject({ path: '/v2/validatebatch', body: { api_key: 'test-key' } });
    expect([...(standIn.calls[0]?.query ?? [])]).toEqual([]);
  });

  it.each([SINGLE, BATCH])('a wrong key is refused: %s', async (name) => {
    const standIn = await open();
    // A key of the vendor's form; another one meets its firewall.
    const client = await clientOf(name, standIn.base, 'a'.repeat(32));
    expect(inWords(await askOne(client, 'verify', { email: personOf(1).email }))).toMatch(/^denied http_(?:200|403)$/);
    expect(standIn.counts.charged).toBe(0);
  });

  it.each([SINGLE, BATCH])('credits that are used up are told like a wrong key: %s', async (name) => {
    const standIn = await open({ credits: 1 });
    const client = await clientOf(name, standIn.base);
    const words = [];
    for (let i = 0; i < 2; i += 1) words.push(inWords(await askOne(client, 'verify', { email: personOf(i).email })));
    expect(words).toEqual(['match', 'denied http_200']);
  });

  it.each([
    [SINGLE, 60],
    [BATCH, 600],
  ])('a window that is used up is a wait for the end of the block: %s', async (name, seconds) => {
    const standIn = await open({ windows: [{ name: 'minute', limit: 1 }] });
    const client = await clientOf(name, standIn.base);
    const words = [];
    for (let i = 0; i < 2; i += 1) words.push(inWords(await askOne(client, 'verify', { email: personOf(i).email })));
    expect(words).toEqual(['match', `wait ${seconds} s`]);
  });
});
