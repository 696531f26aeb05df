import { describe, expect, it } from 'vitest';
import { countryCode, filterCountry } from '../../../src/service/records/countries.ts';
import { countryName } from '../../../src/verification/countries.ts';
import { FILTER_VALUES } from '../../../src/service/webhooks/filter.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { KEY, makeStore, serveStore } from '../harness.ts';
import { load } from '../loading.ts';

const AUTH = { authorization: `Bearer ${KEY}` };

describe('a country of a file', () => {
  it.each([
    ['Deutschland', 'DE'],
    ['Österreich', 'AT'],
    ['osterreich', 'AT'],
    ['España', 'ES'],
    ['Brasil', 'BR'],
    ['日本', 'JP'],
    ['U.S.', 'US'],
    ['U.S.A.', 'US'],
    ['USA', 'US'],
    ['U.K.', 'GB'],
    ['DEU', 'DE'],
    ['GBR', 'GB'],
    ['The Netherlands', 'NL'],
    ['Trinidad and Tobago', 'TT'],
    ['Korea, Republic of', 'KR'],
    ["Korea, Democratic People's Republic of", 'KP'],
    ['Iran, Islamic Republic of', 'IR'],
    ["Côte d'Ivoire", 'CI'],
    [' germany ', 'DE'],
    ['Kongo', null],
    ['European Union', null],
    ['EU', null],
    ['XA', null],
    ['Georgia, USA', null],
    ['Atlantis', null],
    ['', null],
  ])('%j has the code %s', (given, code) => expect(countryCode(given)).toBe(code));

  it('the English name and the name in German of every country lead to its code', () => {
    const german = new Intl.DisplayNames('de', { type: 'region', fallback: 'none' });
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
    const codes = letters.flatMap((first) => letters.map((second) => first + second)).filter((code) => countryCode(code) === code);
    expect(codes.length).toBeGreaterThan(240);
    for (const code of codes)
      expect([code, countryCode(countryName(code) ?? ''), countryCode(german.of(code) ?? '')]).toEqual([code, code, code]);
  });
});

describe('a country in a filter', () => {
  it.each([
    ['UK', 'GB'],
    ['uk', 'GB'],
    ['GB', 'GB'],
    ['de', 'DE'],
    ['SU', 'RU'],
    ['XK', 'XK'],
    ['XX', null],
    ['ZZ', null],
    ['DEU', null],
    ['Germany', null],
    ['', null],
  ])('%s is read as %s', (given, code) => {
    expect([filterCountry(given), FILTER_VALUES.country.read(given)]).toEqual([code, code]);
  });

  it('a country is read the same way by search, signals and GraphQL', async () => {
    const path = await makeStore();
    const store = openStore(path);
    await load(store, [{ email: 'brit@acme.example', name: 'Brit', location: { country_code: 'GB', country: 'United Kingdom' } }]);
    store.close();
    const service = await serveStore({ store: path });
    const totals = async (code: string): Promise<unknown[]> => {
      const found = await Promise.all([
        service.request(`/v1/contacts/search?country=${code}`, { headers: AUTH }),
        service.post('/v1/contacts/search', { country: [code] }),
        service.post('/v1/graphql', { query: `{ contacts(filter: {country: ["${code}"]}) { totalCount } }` }),
      ]);
      return found.map(
        ({ json }) =>
          (json['meta'] as { total?: number } | undefined)?.total ??
          (json['data'] as { contacts?: { totalCount: number } | null } | undefined)?.contacts?.totalCount ??
          null,
      );
    };
    expect([await totals('UK'), await totals('GB')]).toEqual([
      [1, 1, 1],
      [1, 1, 1],
    ]);
    expect(await totals('XX')).toEqual([null, null, null]);
    expect((await service.request('/v1/signals?country=UK', { headers: AUTH })).status).toBe(200);
    for (const where of ['/v1/signals', '/v1/contacts/search'])
      expect((await service.request(`${where}?country=XX`, { headers: AUTH })).json).toMatchObject({
        code: 'invalid_parameter',
        errors: [{ parameter: 'country', detail: expect.stringContaining('is no country code') }],
      });
  });
});
