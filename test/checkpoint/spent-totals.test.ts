import { describe, expect, it } from 'vitest';
import { NEW_PROVIDER } from '../../src/checkpoint/provider-state.ts';
import { spentText, withSpent } from '../../src/checkpoint/spent-totals.ts';
import * as fc from '../support/fast-check.ts';
import { CHECKPOINT } from './samples.ts';

const run = { credits: 6.5 };
const pdl = { credits: 5, creditsBy: { enrich: 5 } };
const killed = {
  ...CHECKPOINT,
  totals: { ...CHECKPOINT.totals, calls: { enrich: 2 }, credits: 2 },
  providers: { pdl: NEW_PROVIDER, hunter: { ...NEW_PROVIDER, totals: { ...NEW_PROVIDER.totals, credits: 3 } } },
};

describe('the spending of a killed run', () => {
  it('a resume begins with the larger sum of checkpoint and ledger, for the run and for each provider', () => {
    const { totals, providers } = withSpent(killed, spentText(run, { pdl, gone: pdl }));
    expect(totals).toEqual({ ...killed.totals, credits: 6.5 });
    expect(providers?.['pdl']?.totals).toEqual({ ...NEW_PROVIDER.totals, ...pdl });
    expect(providers?.['hunter']).toEqual(killed.providers.hunter);
    expect(Object.keys(providers ?? {})).toEqual(['pdl', 'hunter']);
  });

  it('a ledger lowers no sum of the checkpoint, whatever it holds', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('', 'null', '{"run":{"credits":-1,"calls":[]}}', '{"run":3,"providers":{"pdl":0}}'),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const { totals, ...rest } = withSpent(killed, text);
        expect(totals.credits).toBeGreaterThanOrEqual(2);
        expect({ ...rest, totals: { ...totals, credits: 2 } }).toMatchObject({ ...killed, providers: expect.anything() });
      }),
    );
  });
});
