/** A child process that runs one purge: node purging-child.ts FILE EMAIL|- BEFORE|-. */
import { purgeLedger } from '../../src/ledger/purge.ts';

const [path = '', email = '-', before = '-'] = process.argv.slice(2);
process.stdout.write('purging\n');
const { answers } = await purgeLedger(path, { email: email === '-' ? null : email, before: before === '-' ? null : Number(before) });
process.stdout.write(`${answers}\n`);
