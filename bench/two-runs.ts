/**
 * Two runs of one job. In real time (leases last 30 s): the second leaves with 75; a holder that was paused past its lease
 * loses the job. Then, without the wait: a run paused right before each step that changes the disk, against each state of
 * the run that took its job over. `node bench/two-runs.ts`
 */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { Folder } from '../test/support/cli.ts';
import { atStep } from '../test/support/crash-chain.ts';
import { argsOf, csvJob, resultOf, writeInput } from '../test/support/crash-jobs.ts';
import { leads, toCsv } from '../test/support/leads.ts';
import {
  age,
  CUTTING,
  HEIRS,
  IN_TRANSACTION,
  LATER_CHECKPOINT,
  pausedAt,
  standsStill,
  STEPS,
  TAKING_OVER,
  wake,
  WRITING,
} from '../test/support/paused-run.ts';
import { ScriptedService } from '../test/support/scripted-service.ts';

const failures: string[] = [];
const check = (what: string, holds: boolean): void => {
  process.stdout.write(`${holds ? 'ok     ' : 'NOT OK '} ${what}\n`);
  if (!holds) failures.push(what);
};

async function inFolder(work: (folder: Folder, service: ScriptedService) => Promise<void>): Promise<void> {
  const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
  try {
    await work(folder, service);
  } finally {
    await Promise.all([folder.remove(), service.stop()]);
  }
}

await inFolder(async (folder, service) => {
  const args = (output: string): string[] => [
    'run',
    '--input',
    'in.csv',
    '--output',
    output,
    '--steps',
    'enrich',
    '--base-url',
    service.url,
    '--plan',
    'enterprise',
    '--progress',
    'log',
    '--checkpoint.everyMs',
    '50',
    '--max-errors',
    '100%',
  ];
  const usual = service.script;
  await writeFile(folder.at('in.csv'), toCsv(leads(500, 81)));
  await folder.run(args('plain.csv'));
  const expected = await readFile(folder.at('plain.csv'));

  service.forget();
  service.script = (asked, _response, reply, answer) => {
    if (asked.number <= 100) reply(answer());
  };
  const holder = folder.start(args('out.csv'));
  await service.when(() => service.answered === 100 && service.unanswered.size > 0);
  const began = performance.now();
  const second = await folder.run(args('out.csv'));
  const seconds = Math.round((performance.now() - began) / 1_000);
  check(
    `the second run leaves with 75 after one lease (${seconds} s), naming process ${holder.child.pid}`,
    second.code === 75 && second.stderr.includes(`process ${holder.child.pid} on `) && seconds >= 29 && seconds <= 33,
  );

  holder.kill('SIGSTOP');
  service.script = usual;
  const heir = await folder.run(args('out.csv'));
  check('once the holder is paused past its lease, another run takes over and finishes', heir.code === 0);
  check('with the bytes of a run that nobody disturbed', (await readFile(folder.at('out.csv'))).equals(expected));
  const { code, stderr, changed } = await wake(folder, holder, 'out.csv');
  check(
    `the paused run ends with 75 when it wakes: ${stderr.split('\n').find((line) => line.startsWith('millrace:')) ?? stderr}`,
    code === 75,
  );
  check('and has changed nothing', changed.length === 0);
  const again = await folder.run(args('out.csv'));
  check('the job is finished: running it again calls nothing', again.code === 0 && again.stderr.includes('nothing_to_do'));
});

const JOB = csvJob(leads(120, 23), { steps: 'enrich', concurrency: '4' });
const LOCK = `${JOB.output}.checkpoint.json.lock`;
let plain = '';

/** A job with answers slow enough for several checkpoints. */
async function slowly(what: string, work: (folder: Folder, args: string[]) => Promise<boolean>): Promise<void> {
  await inFolder(async (folder, service) => {
    await writeInput(JOB, folder);
    service.latencyMs = 10;
    const held = await work(folder, argsOf(JOB, service)).catch((error: unknown) => {
      process.stdout.write(`${String(error)}\n`);
      return false;
    });
    check(what, held && JSON.stringify(await resultOf(folder, JOB)) === plain);
  });
}

async function wakesInVain(folder: Folder, holder: Parameters<typeof wake>[1]): Promise<boolean> {
  const { code, stderr, changed } = await wake(folder, holder, JOB.output);
  if (code === 75 && changed.length === 0) return true;
  process.stdout.write(`${code}, changed: ${changed.join(', ')}\n${stderr}\n`);
  return false;
}

await inFolder(async (folder, service) => {
  await writeInput(JOB, folder);
  await folder.run(argsOf(JOB, service));
  plain = JSON.stringify(await resultOf(folder, JOB));
});
for (const step of STEPS) {
  for (const { name, step: heirStep } of HEIRS) {
    await slowly(`paused before ${step.name}: changes nothing when the heir ${name}`, async (folder, args) => {
      const holder = await pausedAt(folder, args, step);
      await age(folder.at(LOCK));
      const heir = folder.start(args, heirStep === null ? {} : { env: atStep(heirStep, 'SIGSTOP') });
      await standsStill(heir);
      const inVain = await wakesInVain(folder, holder);
      heir.kill('SIGCONT');
      return (await heir.ended).code === 0 && inVain;
    });
  }
}
for (const step of TAKING_OVER) {
  await slowly(`the heir is killed before ${step.name}: the next one shares no file with the paused run`, async (folder, args) => {
    const holder = await pausedAt(folder, args, WRITING);
    await age(folder.at(LOCK));
    await folder.run(args, { env: atStep(step) });
    const next = await pausedAt(folder, args, { ...WRITING, nth: 1 });
    const inVain = await wakesInVain(folder, holder);
    next.kill('SIGCONT');
    return (await next.ended).code === 0 && inVain;
  });
}
for (const step of CUTTING) {
  await slowly(`a run that resumes is paused before ${step.name}: it cuts nothing off what the heir has written`, async (folder, args) => {
    await folder.run(args, { env: atStep(LATER_CHECKPOINT) });
    await appendFile(folder.at(`${JOB.output}.partial`), 'written, and in no checkpoint');
    const holder = await pausedAt(folder, args, step);
    await age(folder.at(LOCK));
    const heir = await pausedAt(folder, args, { ...LATER_CHECKPOINT, nth: 3 });
    const inVain = await wakesInVain(folder, holder);
    heir.kill('SIGCONT');
    return (await heir.ended).code === 0 && inVain;
  });
}
await slowly(
  'paused within a transaction of the ledger: the other run leaves with 75, the paused one too, and the next finishes',
  async (folder, args) => {
    const holder = await pausedAt(folder, args, IN_TRANSACTION);
    await age(folder.at(LOCK));
    const heir = await folder.run(args);
    holder.kill('SIGCONT');
    const woken = await holder.ended;
    return heir.code === 75 && heir.stderr.includes('keeps the ledger') && woken.code === 75 && (await folder.run(args)).code === 0;
  },
);
process.stdout.write(`${failures.length === 0 ? 'all held' : `${failures.length} did not hold`}\n`);
process.exitCode = failures.length === 0 ? 0 : 1;
