import { describe, expect, it } from 'vitest';

import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';

import { suppress } from '../../../src/service/erasure/suppress.ts';
import { emptyStore, load } from '../loading.ts';

describe('recognising erased people', () => {
  it('a row or signal with an erased person’s number or id is refused, and a namesake with another id is stored', async () => {
    const store = await emptyStore();
    loadPeople(store, [{ name: 'Ada Example', company_domain: 'acme.example' }], 'crm');
    const id = String(openDirectory(store).peopleByName('ada example', { domain: 'acme.example' })[0]?.person['id']);
    loadPeople(store, [{ id, email: 'ada@acme.example', mobile: '+12125550100' }], 'crm');
    expect(suppress(store, ['ada@acme.example'], 7)).toMatchObject({ people: 1 });
    const ada = { name: 'Ada Example', company_domain: 'acme.example' };
    expect(
      (
        await load(store, [
          { ...ada, mobile: '+1 212 555 0100' },
          { ...ada, id },
          { email: 'new@home.example', mobile: '+12125550100' },
        ])
      ).counts.rejected,
    ).toEqual({ suppressed: 3 });
    expect(
      (
        await load(store, [{ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { id } }], {
          kind: 'signals',
        })
      ).counts.rejected,
    ).toEqual({ suppressed: 1 });
    for (const change of ['added', 'unchanged']) expect((await load(store, [ada])).counts).toMatchObject({ [change]: 1 });
    const directory = openDirectory(store);
    expect([directory.personById(id), directory.peopleByName('ada example', { domain: 'acme.example' }).length]).toEqual([null, 1]);
    store.close();
  });

  it('a number stays with the other people who have it, until the last of them is erased', async () => {
    const store = await emptyStore();
    loadPeople(
      store,
      [
        { email: 'a@acme.example', mobile: '+12125550100' },
        { email: 'b@acme.example', mobile: '+12125550100' },
      ],
      'crm',
    );
    const directory = openDirectory(store);
    suppress(store, ['a@acme.example'], 7);
    expect([directory.personByNumber('+12125550100')?.row.person['email'], directory.isSuppressed({ mobiles: ['+12125550100'] })]).toEqual([
      'b@acme.example',
      false,
    ]);
    suppress(store, ['b@acme.example'], 7);
    expect(directory.isSuppressed({ mobiles: ['+12125550100'] })).toBe(true);
    store.close();
  });

  it('a colleague is not kept out by the number of a switchboard, in any form', async () => {
    const number = '+493012345600';
    const store = await emptyStore();
    loadPeople(store, [{ email: 'anna@acme.example', name: 'Anna A', mobile: '+12125550100', phones: [{ number, type: 'work' }] }], 'crm');
    suppress(store, ['anna@acme.example'], 7);
    const people = [
      { email: 'bob@acme.example', phones: [{ number, type: 'work' }] },
      { email: 'carl@acme.example', mobile: number },
      { email: 'dora@acme.example', phones: [{ number, type: 'mobile' }] },
    ];
    expect((await load(store, [...people, { email: 'new@home.example', mobile: '+12125550100' }])).counts).toMatchObject({
      added: 3,
      rejected: { suppressed: 1 },
    });
    store.close();
  });

  it.each(['Mobile', 'CELL', 'cellular', 'mobile phone', 'Cell Phone', 'work_mobile'])(
    'a number of the type %j counts as a mobile number',
    async (type) => {
      const store = await emptyStore();
      loadPeople(
        store,
        [
          {
            email: 'ada@acme.example',
            phones: [
              { number: '+12125550100', type },
              { number: '+12125550101', type: 'automobile' },
            ],
          },
        ],
        'crm',
      );
      suppress(store, ['ada@acme.example'], 7);
      const people = ['+12125550100', '+12125550101'].map((mobile) => ({ email: `${mobile.slice(1)}@home.example`, mobile }));
      expect((await load(store, people)).counts).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
      store.close();
    },
  );
});
