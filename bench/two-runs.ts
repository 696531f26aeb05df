/**
 * Two runs of one job, in real time (leases last 30 s): the second leaves with 75; a holder that was paused past its lease
 * loses the job, and what it writes when it wakes gets into nothing. `node bench/two-runs.ts`
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Folder } from '../test/support/cli.ts';
import { leads, toCsv } from '../test/support/leads.ts';
import { ScriptedService } from '../test/support/scripted-service.ts';

const ROWS = leads(500, 81);
const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
const args = (output: string): string[] => ['run', '--input', 'in.csv', '--output', output, '--steps', 'enrich', '--base-url', service.url, '--plan', 'enterprise', '--progress', 'log', '--checkpoint.everyMs', '50', '--max-errors', '100%'];
const usual = service.script;
const stalled: typeof service.script = (asked, _response, reply, answer) => {
  if (asked.number <= 100) reply(answer());
};
const failures: string[] = [];
const check = (what: string, holds: boolean): void => {
  process.stdout.write(`${holds ? 'ok     ' : 'NOT OK '} ${what}\n`);
  if (!holds) failures.push(what);
};
try {
  await writeFile(folder.at('in.csv'), toCsv(ROWS));
  await folder.run(args('plain.csv'));
  const expected = await readFile(folder.at('plain.csv'));

  service.forget();
  service.script = stalled;
  const holder = folder.start(args('out.csv'));
  await service.when(() => service.answered === 100 && service.unanswered.size > 0);
  const began = performance.now();
  const second = await folder.run(args('out.csv'));
  const seconds = Math.round((performance.now() - began) / 1_000);
  check(`the second run leaves with 75 after one lease (${seconds} s), naming process ${holder.child.pid}`, second.code === 75 && second.stderr.includes(`process ${holder.child.pid} on `) && seconds >= 29 && seconds <= 33);

  holder.kill('SIGSTOP');
  service.script = usual;
  const heir = await folder.run(args('out.csv'));
  check('once the holder is paused past its lease, another run takes over and finishes', heir.code === 0);
  const finished = await readFile(folder.at('out.csv'));
  check('with the bytes of a run that nobody disturbed', finished.equals(expected));
  const report = await folder.read('out.csv.report.json');
  holder.kill('SIGCONT');
  const woken = await holder.ended;
  check(`the paused run ends with 75 when it wakes: ${woken.stderr.split('\n').find((line) => line.startsWith('millrace:')) ?? woken.stderr}`, woken.code === 75);
  check('and has changed nothing', (await readFile(folder.at('out.csv'))).equals(expected) && (await folder.read('out.csv.report.json')) === report && !(await folder.files()).some((name) => name.endsWith('.partial')));
  const again = await folder.run(args('out.csv'));
  check('the job is finished: running it again calls nothing', again.code === 0 && again.stderr.includes('nothing_to_do'));
} finally {
  await Promise.all([folder.remove(), service.stop()]);
}
process.exitCode = failures.length === 0 ? 0 : 1;
