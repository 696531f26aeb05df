/** A child process that claims lookups and answers none until it is killed: node claiming-child.ts FILE RUN KEY... */
import { writeSync } from 'node:fs';
import { ClaimingLedger } from '../../src/ledger/claims/claiming-ledger.ts';
import { silentTeller } from '../../src/ledger/options.ts';
import { scopeOf } from './asking.ts';

const [path = '', run = '', ...keys] = process.argv.slice(2);
const ledger = ClaimingLedger.open({
  path,
  job: run,
  run,
  claimant: run,
  keySeed: `seed of ${run}`,
  maxAgeDays: 7,
  now: Date.now,
  sharedSince: 0,
  tell: silentTeller,
});
for (const key of keys) ledger.ask(scopeOf(ledger), key, (known) => writeSync(1, `${key} ${known === null ? 'asks' : 'knows'}\n`));
// The pipe ends when the parent process dies.
process.stdin.resume();
