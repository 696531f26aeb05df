/** One record through the steps of a job. */
import { expect } from 'vitest';
import { keysFor } from '../../src/processor/lookup-keys.ts';
import { openSteps, type OpenStep } from '../../src/processor/open-steps.ts';
import { RecordProcessor } from '../../src/processor/process-record.ts';
import type { RecordResult } from '../../src/processor/result.ts';
import type { LookupScopes } from '../../src/processor/scopes.ts';
import type { SettledCall } from '../../src/pool/call-pool.ts';
import { emailsIn, job, makeBench, person, record, verdicts, type Bench } from '../lookup/bench.ts';
import type { Step } from '../../src/steps/registry.ts';

interface Bed {
  readonly bench: Bench;
  readonly processor: RecordProcessor;
  readonly verify: OpenStep | null;
}

const SCOPES: LookupScopes = {
  enrich: { email: 1, domain: 2, linkedin_url: 6, phone: 7, name: 8, company: 13 },
  verify: { email: 3 },
  company: { domain: 4 },
  reveal: { linkedin_url: 5, email: 9, phone: 10, name: 11, company: 12 },
};
const isFree = (domain: string): boolean => domain === 'free.example';

export function makeProcessor(steps: readonly Step[], when: 'always' | 'unverified' = 'always', batch?: number): Bed {
  const bench = makeBench();
  const provider = {
    name: 'service',
    contextOf: () => bench.context,
    scopes: SCOPES,
    ...(batch === undefined ? {} : { verifyBatch: batch }),
  };
  const open = openSteps(job(steps, when), [provider]);
  return { bench, verify: open.at.verify?.[0] ?? null, processor: new RecordProcessor(job(steps, when), open, keysFor(steps, isFree)) };
}

export const FOUND = { email: 'found@example.com', name: 'Ada', verified: false };

type VerifySaid = SettledCall<unknown> | 'verdict';

/** Takes one record through the steps. Returns its result and the addresses that were verified. */
export function through(
  steps: readonly Step[],
  input: ReturnType<typeof record>,
  enriched: SettledCall<unknown> | null,
  verified: VerifySaid | null,
  when: 'always' | 'unverified' = 'always',
): { result: RecordResult; asked: string[] } {
  const { bench, processor, verify } = makeProcessor(steps, when);
  const results: RecordResult[] = [];
  const held: number[] = [];
  processor.process(input, 0, { done: (result) => results.push(result), retained: (bytes) => held.push(bytes) });
  if (enriched !== null) bench.next('enrich').settle(enriched);
  verify?.flush();
  if (verified !== null) {
    const call = bench.next('verify');
    call.settle(verified === 'verdict' ? verdicts(emailsIn(call.body), () => 'risky') : verified);
  }
  expect(bench.asked).toEqual([]);
  expect(results).toHaveLength(1);
  // The bytes of an answer are reported once while the record waits for other steps.
  expect(held).toHaveLength(enriched?.kind === 'ok' ? 1 : 0);
  return { result: results[0] as RecordResult, asked: bench.bodies.verify.flatMap(emailsIn) };
}

export const BOTH = ['enrich', 'verify'] as const;
export const ADA = record('ada@example.com', 'example.com');

/** Takes one record through the steps. A step that `says` leaves out finds a record with its own name. */
export function follow(
  steps: readonly Step[],
  input: ReturnType<typeof record>,
  says: Record<string, SettledCall<unknown>> = {},
): { result: RecordResult; asked: Step[] } {
  const { bench, processor, verify } = makeProcessor(steps);
  const results: RecordResult[] = [];
  const asked: Step[] = [];
  processor.process(input, 0, { done: (result) => results.push(result), retained: () => undefined });
  for (verify?.flush(); bench.asked.length > 0; verify?.flush()) {
    const call = bench.next();
    asked.push(call.step);
    call.settle(says[call.step] ?? (call.step === 'verify' ? verdicts(emailsIn(call.body)) : person({ name: call.step })));
  }
  expect(results).toHaveLength(1);
  return { result: results[0] as RecordResult, asked };
}
