import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import { addressesWithPath, ledgerOrigin, serviceOrigin } from '../lifecycle/service-origin.ts';
import type { Reporter } from './reporter.ts';

/** Warns of answers that an earlier version stored without the path of the address: they are asked anew. */
export function warnOfOldLedgerKeys(
  job: Pick<CompiledJob, 'providers'>,
  checkpoint: Pick<Checkpoint, 'ledgerKey'>,
  ledger: Pick<RunLedger, 'hasScopesOf'>,
  reporter: Pick<Reporter, 'warn'>,
): void {
  if (checkpoint.ledgerKey !== 'path') return;
  for (const address of addressesWithPath(job)) {
    const [old, own] = [serviceOrigin(address), ledgerOrigin(address, checkpoint)];
    if (ledger.hasScopesOf(own) || !ledger.hasScopesOf(old)) continue;
    reporter.warn(
      'old_ledger_keys',
      `the ledger has answers of ${old}, stored without the path of ${own}: they are not used, and are asked for again`,
    );
  }
}
