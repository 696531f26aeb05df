/** The record of a match that the ledger keeps, read without a client. */
import type { JobProvider } from '../../definition/compiled-job.ts';
import { isObject } from '../../util/is-object.ts';
import { NotTaken } from '../../providers/client/refusal.ts';
import type { Step } from '../../steps/registry.ts';

type AnyRecord = Readonly<Record<string, unknown>>;

/** No rule of the definition takes the answer, so that a run asks again. */
export const ASKED_AGAIN = 'asked again';

/**
 * The record by the rules and the mapping of today; null where it is a miss, or cannot be read, which a run counts as a failure.
 * @param text of the ledger's answer: for a declared provider the provider's own answer, else the record
 */
export async function readKeptRecord(
  { definition }: Pick<JobProvider, 'definition'>,
  step: Step,
  text: string,
): Promise<AnyRecord | null | typeof ASKED_AGAIN> {
  const operation = definition.operations[step];
  try {
    if (step === 'verify' || definition.client === 'built-in' || operation === undefined) {
      // A second line names the request that polls for the answer.
      const [first = ''] = text.split('\n', 1);
      const record: unknown = JSON.parse(first);
      return isObject(record) ? record : null;
    }
    const { recordOfStored } = await import('../../providers/client/stored-answer.ts');
    return await recordOfStored(operation, text);
  } catch (error) {
    return error instanceof NotTaken ? ASKED_AGAIN : null;
  }
}
