/** A process of its own that claims lookups and answers none until it is killed: node claiming-child.ts FILE RUN KEY... */
import { writeSync } from 'node:fs';
import { ClaimingLedger } from '../../src/ledger/claims/claiming-ledger.ts';
import { tellNobody } from '../../src/ledger/options.ts';
import { scopeOf } from './asking.ts';

const [path = '', run = '', ...keys] = process.argv.slice(2);
const ledger = ClaimingLedger.open({ path, job: run, run, claimant: run, keySeed: `seed of ${run}`, maxAgeDays: 7, now: Date.now, sharedSince: 0, tell: tellNobody });
for (const key of keys) ledger.ask(scopeOf(ledger), key, (told) => writeSync(1, `${key} ${told === null ? 'asks' : 'knows'}\n`));
// The pipe ends when whoever started this one dies.
process.stdin.resume();
