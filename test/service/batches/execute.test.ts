import { expect, it } from 'vitest';
import { lineExecutor, type ExecuteContext, type LineOutcome } from '../../../src/service/batches/execute.ts';
import { atOnce, mapped, type Steps } from '../../../src/util/steps.ts';
import { REQUEST } from './alone.ts';

it('the verdicts of a chunk are shared out in steps, and each line has its own', async () => {
  const emails = Array.from({ length: 50 }, (_, index) => `p${index}@acme.example`);
  let steps = 0;
  function* counting<T>(work: Steps<T>): Steps<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      steps++;
      yield value;
    }
  }
  const context = {
    verifier: {
      verify: async (asked: readonly string[], { run }: { readonly run: typeof atOnce }) =>
        run(mapped(asked, 1, (email) => ({ email, normalized: email, result: 'deliverable', reason: 'accepted' }))),
    },
    evidence: {},
    directory: { isSuppressed: ({ emails: [email] }: { readonly emails: readonly string[] }) => email === emails[7] },
    now: () => 0,
  } as unknown as ExecuteContext;
  const never = (error: unknown): void => expect.fail(String(error));
  const executor = lineExecutor(context, { ...REQUEST, operation: 'verify' }, { onBug: never, onDamage: never }, (work) =>
    atOnce(counting(work)),
  );
  const outcomes = emails.map((email) => executor.execute({ customId: email, params: { email } }).outcome);
  executor.flush();
  const settled: LineOutcome[] = [];
  for (const outcome of outcomes) settled.push(await outcome);
  const named = settled.map(({ found }) =>
    'record' in found ? (JSON.parse(found.record) as { readonly email: string }).email : found.code,
  );
  expect(named).toEqual(emails.map((email, at) => (at === 7 ? 'suppressed_person' : email)));
  // Erasures are looked up before and after, and each other address is checked and written.
  expect(steps).toBe(4 * emails.length - 1);
});
