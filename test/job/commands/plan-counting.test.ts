import { expect, it } from 'vitest';
import { PlanCounting } from '../../../src/job/commands/plan-counting.ts';
import { keysFor } from '../../../src/processor/lookup-keys.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import type { LedgerAnswer } from '../../../src/ledger/ledger.ts';
import { record } from '../../lookup/bench.ts';

it('a lookup that a stopped run was asking for counts as one to ask, not as an answer of the ledger', () => {
  const job = {
    steps: ['enrich'],
    verify: { when: 'always' },
    namesProviders: false,
    providers: [{ domainField: 'domain' }],
    waterfalls: { enrich: { from: ['service'], keys: [['email']], until: [], fields: 'whole' } },
    enrich: { by: ['email'], minLikelihood: 0, required: [] },
    reveal: { by: [] },
  } as unknown as CompiledJob;
  const answers: Record<string, LedgerAnswer> = {
    'a@example.com': { kind: 'asking', text: '["a",1,1,"ticket"]' },
    'b@example.com': { kind: 'miss' },
  };
  const ledger = { scope: () => 1, look: (_scope: number, key: string) => answers[key] ?? null, fetch: null, close: async () => undefined };
  const seen = new Set<string>();
  const add = (key: string): boolean => !seen.has(key) && seen.add(key).size > 0;
  const counting = new PlanCounting(
    job,
    keysFor(['enrich'], () => false),
    { add },
    ledger,
    'https://service.test',
  );
  for (const email of Object.keys(answers)) void counting.add(record(email));
  expect([counting.unique, counting.fromLedger, counting.paid.asked.enrich]).toEqual([2, 1, 1]);
});
