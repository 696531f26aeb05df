/** A child process that writes groups of answers until it is killed or done: node writing-child.ts FILE RUN PREFIX FROM TO. */
import { writeSync } from 'node:fs';
import { Ledger } from '../../src/ledger/ledger.ts';
import { seeded } from '../support/leads.ts';
import { makeGroup } from './groups.ts';

const [path = '', run = '', prefix = '', from = '0', to = '0'] = process.argv.slice(2);
const random = seeded(Number(from) + 7);
const ledger = Ledger.open({ path, job: `job of ${run}`, run, maxAgeDays: 1, now: Date.now });
const scope = ledger.scope('https://api.example', 'enrich', 'by email');
for (let group = Number(from); group < Number(to); group++) {
  ledger.put(makeGroup(scope, group, prefix));
  if (random() < 0.5) continue;
  ledger.flush();
  // This reports that all groups up to here are durable.
  writeSync(1, `${group + 1}\n`);
}
ledger.close();
writeSync(1, `${to}\n`);
