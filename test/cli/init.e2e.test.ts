/** `millrace init`, `millrace jobs` and `millrace completion`. */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ensurePackage } from '../services/debian.ts';
import { makeFolder, makeWorld } from '../support/world.ts';

const ROW = 'Imani,imani.irving@cobalt-materials.example,https://profiles.example/in/imani';

test.each([
  ['leads.csv', `Name,E-Mail-Adresse,LinkedIn\n${ROW}\n`, 'leads.yaml'],
  ['odd "name": {x}.csv', `Na"me,"Work\nEmail",LinkedIn\n${ROW}\n`, 'odd "name" x.yaml'],
  ['leads.jsonl', `{"work_email":"imani.irving@cobalt-materials.example"}\n`, 'leads.yaml'],
  ['profiles.csv', `Name,LinkedIn\nImani,https://profiles.example/in/imani\n`, 'profiles.yaml'],
  ['semi.csv', `Name;Courriel\nImani;imani.irving@cobalt-materials.example\n`, 'semi.yaml'],
])('init writes a job file for %j that runs as it is, and leaves an existing file alone', async (name, text, expected) => {
  const folder = await makeFolder();
  await writeFile(folder.at(name), text);
  const written = await folder.run(['init', name]);
  // Characters of a glob are no part of a name.
  const file = written.stdout.trim();
  expect(written.code).toBe(0);
  expect(file.replaceAll(/[":{}]/g, '')).toBe(expected.replaceAll(/[":{}]/g, ''));
  const before = await folder.read(file);
  expect(before).toContain('# A job of Millrace.');
  if (!/[*?[\]{}]/.test(name)) {
    expect(await folder.run(['run', `./${file}`, '--progress', 'none'])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: sample data: [^\n]*\n$/),
    });
    expect(await folder.run(['init', name])).toMatchObject({ code: 65, stderr: expect.stringContaining('was left as it is') });
  }
  expect(await folder.read(file)).toBe(before);
});

test('init refuses a missing input, and an input without a key', async () => {
  const folder = await makeFolder();
  await writeFile(folder.at('odd.csv'), 'a,b\n1,2\n');
  expect(await folder.run(['init', 'nowhere.csv'])).toMatchObject({ code: 65 });
  expect(await folder.run(['init', 'odd.csv'])).toMatchObject({ code: 65, stderr: expect.stringContaining('none is an email') });
  expect(await folder.run(['init'])).toMatchObject({ code: 64 });
  expect(await folder.files()).toEqual(['odd.csv']);
});

test('jobs lists finished, stopped, running and damaged jobs, the one that was active last first', async () => {
  const { folder, service, args } = await makeWorld('email\na1@works.example\na2@works.example\nmiss3@works.example\n');
  await mkdir(folder.at('deep', 'er'), { recursive: true });
  expect(await folder.run(args({ steps: 'enrich', output: 'deep/er/done.csv' }))).toMatchObject({ code: 0 });
  expect(await folder.run(args({ steps: 'enrich', output: 'stopped.csv', 'max-calls': '1', concurrency: '1' }))).toMatchObject({
    code: 77,
  });
  await writeFile(folder.at('broken.csv.checkpoint.json'), '{"version":1');
  service.script = () => undefined;
  const run = folder.start(args({ steps: 'enrich', output: 'running.csv' }));
  await service.when(() => service.unanswered.size > 0);
  const { code, stdout } = await folder.run(['jobs', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    { job: 'running', state: 'running', records: 0 },
    { job: 'stopped', state: 'stopped', output: 'stopped.csv' },
    { job: 'done', state: 'finished', exitCode: 0, records: 3, failed: 0, credits: 2, output: 'deep/er/done.csv' },
    { state: 'unreadable', checkpoint: 'broken.csv.checkpoint.json' },
  ]);
  const table = (await folder.run(['jobs'])).stdout.split('\n');
  expect(table[0]).toMatch(/^job +state +active +rows +people +failed +credits +output$/);
  expect(table[3]).toMatch(/^done +finished +\d+ s ago +3 +66\.7 % +0 +2 +deep\/er\/done\.csv$/);
  run.kill('SIGKILL');
  await run.ended;
  expect((await folder.run(['jobs', 'nowhere'])).code).toBe(65);
  expect((await folder.run(['jobs', 'deep/er'])).stdout).toMatch(/^done +finished/m);
});

/** The completions that a real bash finds for a line. */
function completed(script: string, words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(' ');
  const program = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

test('the completion of bash knows commands, actions, flags with their words, and files', async () => {
  const folder = await makeFolder();
  const { code, stdout: script } = await folder.run(['completion', 'bash']);
  expect(code).toBe(0);
  expect(completed(script, ['millrace', 'in'])).toEqual(['init']);
  expect(completed(script, ['millrace', 'ledger', 'p'])).toEqual(['purge']);
  expect(completed(script, ['millrace', 'run', '--limits.maxC'])).toEqual(['--limits.maxCredits']);
  expect(completed(script, ['millrace', 'run', '--plan', 's'])).toEqual(['scale']);
  expect(completed(script, ['millrace', 'run', '/etc/host'])).toContain('/etc/hosts');
  await writeFile(folder.at('two words.csv'), '');
  expect(completed(script, ['millrace', 'run', folder.at('two w')])).toEqual([folder.at('two words.csv')]);
});

test.runIf(ensurePackage('fish'))('the completion of fish knows commands, actions and flags with their words', async () => {
  const folder = await makeFolder();
  const { stdout } = await folder.run(['completion', 'fish']);
  await writeFile(folder.at('millrace.fish'), stdout);
  const offered = (line: string): string[] => {
    const program = `source ${folder.at('millrace.fish')}; complete -C '${line}'`;
    const { stdout: found, stderr } = spawnSync('fish', ['--no-config', '-c', program], { encoding: 'utf8', env: { HOME: folder.path } });
    expect(stderr).toBe('');
    return found.trim().split('\n');
  };
  expect(offered('millrace in')).toEqual(['init']);
  expect(offered('millrace ledger p')).toContain('purge');
  expect(offered('millrace run --limits.maxC')).toContain('--limits.maxCredits');
  expect(offered('millrace run --plan s')).toContain('scale');
});

test.runIf(ensurePackage('zsh'))('the completion of zsh is a script that zsh can read', async () => {
  const folder = await makeFolder();
  await writeFile(folder.at('_millrace'), (await folder.run(['completion', 'zsh'])).stdout);
  const { status, stderr } = spawnSync('zsh', ['-n', folder.at('_millrace')], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('a completion for a shell that is not known names the nearest', async () => {
  const folder = await makeFolder();
  expect(await folder.run(['completion', 'bsh'])).toMatchObject({ code: 64, stderr: expect.stringContaining('did you mean bash?') });
});

test('status --watch prints each change until the job has ended', async () => {
  const { folder, service, args } = await makeWorld('email\na1@works.example\na2@works.example\n');
  let finish: () => void = () => undefined;
  service.script = (asked, _response, reply, usual) => {
    if (asked.number === 1) reply(usual());
    else finish = () => reply(usual());
  };
  const run = folder.start(args({ steps: 'enrich', concurrency: '1' }));
  await service.when(() => service.requests.length === 2);
  const [, ...rest] = args({ steps: 'enrich', concurrency: '1' });
  const watching = folder.start(['status', ...rest, '--watch']);
  await watching.says('out: running');
  finish();
  expect((await run.ended).code).toBe(0);
  const { code, stdout } = await watching.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^out: finished, [^]*^records +2/m);
});
