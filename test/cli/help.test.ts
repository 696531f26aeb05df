import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMAND_FLAGS, flagsOf, type CommandName } from '../../src/cli/command-flags.ts';
import { HELP } from '../../src/cli/help.ts';
import { RETRY_FLAGS, RUN_FLAGS, SHORT_FLAGS } from '../../src/definition/flags.ts';
import { CLI } from '../support/cli.ts';
import { commandHere } from '../support/command-here.ts';

const LINES = 24;
const COLUMNS = 100;
/** Runs the built command without settings of the machine, and without input. */
const CONTEXT = { cwd: process.cwd(), env: {}, stdin: '' };

function millrace(...argv: string[]): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, [CLI, ...argv], { encoding: 'utf8', timeout: 30_000 });
}

test.each(Object.keys(HELP))('the help of "%s" fits a screen and ends with an example', async (command) => {
  const { stdout, stderr, code } = await commandHere([...(command === '' ? [] : [command]), '--help'], CONTEXT);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(LINES);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(COLUMNS);
  expect(lines.at(-1)).toMatch(/^Example: millrace /);
});

test('the help of run, retry, plan and status names every short flag that the command takes', () => {
  for (const command of ['run', 'retry', 'plan', 'status']) {
    for (const flag of Object.values(SHORT_FLAGS)) expect(HELP[command]).toMatch(new RegExp(String.raw`--${flag}\b`));
  }
  for (const [command, flags] of [
    ['run', RUN_FLAGS],
    ['retry', RETRY_FLAGS],
  ] as const)
    for (const flag of flags) expect(HELP[command]).toMatch(new RegExp(String.raw`--${flag}\b`));
});

test.each(Object.keys(COMMAND_FLAGS) as CommandName[])('the help of millrace %s names every flag of the command', (command) => {
  const help = HELP[command.split(' ')[0] ?? ''] ?? '';
  for (const flag of flagsOf(command)) expect(help).toMatch(new RegExp(String.raw`--(?:no-)?${flag}\b`));
});

test('the built command prints the help without arguments, and the version with --version', () => {
  expect(millrace()).toMatchObject({ status: 0, stdout: `${HELP['']}\n` });
  expect(millrace('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

const REFUSALS: readonly (readonly [argv: readonly string[], code: number, message: RegExp])[] = [
  [['rnu', 'sample'], 64, /no command "rnu"; did you mean run\?/],
  [['export', '--store', 'x'], 64, /Nothing says what to export/],
  [['export', '--store', 'x', '--contacts', 'x.txt'], 64, /is not clear from its name/],
  [['export', '--store', 'x', '--backup', 'y', '--contacts', 'a.csv'], 64, /goes with no other output/],
  [['serve', '--sample', '--monitor', 'x'], 64, /--monitor must be a port, or HOST:PORT/],
  [['serve', '--sample', '--log-level', 'loud'], 64, /--log-level must be trace,/],
  [['import', '--contacts', 'a.csv'], 64, /needs to know which store/],
  [['import', '--store', 'x', '--contacts', 'a.csv', '--columns.emial', 'X'], 64, /names no field; did you mean --columns\.email\?/],
  [['import', '--store', 'x', '--contacts', 'a.csv', '--as-of', '2026-02-30'], 64, /--as-of must be a day/],
  [['import', '--store', 'x', '--contcats', 'a.csv'], 64, /no flag --contcats; did you mean --contacts\?/],
  [['suppress', '--store', 'x'], 64, /give at least one e-mail address, or -/],
  [['keys'], 64, /needs to know what to do: create, list, revoke, rotate, update/],
  [['keys', 'crate', '--store', 'x'], 64, /did you mean create\?/],
  [['keys', 'create', '--store', 'x'], 64, /needs to know the plan/],
  [['keys', 'create', '--store', 'x', '--plan', 'gold'], 64, /--plan must be trial, growth, scale, enterprise/],
  [['keys', 'revoke', '--store', 'x'], 64, /needs the id of a key/],
  [['keys', 'update', '--store', 'x', '--plan', 'scale'], 64, /needs the id of a key/],
  [['keys', 'update', 'key_x', '--store', 'x'], 64, /--plan, --add-credits or --label/],
  [['keys', 'update', 'key_x', '--store', 'x', '--add-credits', '-5'], 64, /must be a whole number/],
  [['retry', 'sample', '--fresh'], 64, /--fresh is a flag of `millrace run`, not of `millrace retry`/],
  [['retry', '--input', 'a.csv', '--output', '-', '--embedded'], 64, /keeps no checkpoint, so there is nothing to retry/],
  [['run', 'sample', '--inptu', 'x'], 64, /no flag --inptu; did you mean --input\?/],
  [['run', 'sample', '--service.rpm', '5'], 64, /--service\.rpm is written --rpm/],
  [['run', 'sample', '--output'], 64, /--output needs a value/],
  [['run', 'sample', '--checkpoint.everyMs'], 64, /--checkpoint\.everyMs needs a value/],
  [['run', 'sample', '--embedded=maybe'], 64, /--embedded must be true or false/],
  [['run', 'sample', '--rpm', '5', '--rpm', '6'], 64, /--rpm is given more than once/],
  [['run', 'sample', '--constructor', 'x'], 64, /no flag --constructor/],
  [['run', 'sample', '--shard', '4/4'], 64, /--shard must be I\/N, counted from 0, such as 0\/4, got "4\/4"/],
  [['run', 'sample', '--shard', '1/4', '--fresh'], 64, /--fresh starts the whole job over, which shard 0 does for all/],
  [['run', 'sample', '--shard', '1/4', '--input', '-'], 64, /standard input cannot be shared by several shards/],
  [
    ['plan', 'sample', '--shard', '1/4', '--output', '-', '--output.format', 'csv'],
    64,
    /standard output cannot be shared by several shards/,
  ],
  [['retry', 'sample', '--shard', '1/4'], 64, /--shard is a flag of `millrace run`, not of `millrace retry`/],
  [['run', 'sample', '--monitor', 'all'], 64, /--monitor must be a port/],
  [['plan', 'sample', '--monitor', 'all'], 64, /--monitor must be a port/],
  [['ledger', 'stats', 'sample', '--monitor', '9000'], 64, /--monitor is a flag of `millrace run`/],
  [['run', 'sample', 'other'], 64, /one argument too many: "other"/],
  [['run', 'sample', '--progress', 'loud'], 64, /--progress must be one of auto/],
  [['run', 'sample', '--date', '2026-02-30'], 64, /--date must be a day/],
  [['plan', 'sample', '--freshly'], 64, /no flag --freshly; did you mean --fresh\?/],
  [['status', 'sample', '--concurency', '8'], 64, /no flag --concurency; did you mean --concurrency\?/],
  [['serve', '--prot', '1'], 64, /no flag --prot; did you mean --port\?/],
  [['serve', '--port', '65536'], 64, /--port must be a whole number from 0 to 65535/],
  [['enrich', '--embedded'], 64, /give at least one e-mail address or domain, or -/],
  [['enrich', '--embeded', 'jane@acme.example'], 64, /no flag --embeded; did you mean --embedded\?/],
  [['enrich', '--verify.patienceMs', '1', 'jane@acme.example'], 64, /no flag --verify\.patienceMs/],
  [
    ['verify', '--local', '--verify.patienceMs', '10m', 'jane@acme.example'],
    64,
    /--verify\.patienceMs must be milliseconds, a whole number from 0 to 604800000/,
  ],
  [['verify', '--mode', 'dns', '--embedded', 'jane@acme.example'], 64, /--mode goes with --local alone/],
  [['verify', 'jane@acme.example'], 78, /No service is chosen/],
  [['verify', '--base-url', 'http://127.0.0.1:1', 'jane@acme.example'], 78, /There is no API key/],
  [['verify', '--local'], 64, /give at least one e-mail address, or -/],
  [['verify', '--local', '-', 'jane@acme.example'], 64, /- stands alone/],
  [['verify', '--local', '--mode', 'smtp', 'jane@acme.example'], 64, /--mode must be full, dns, syntax/],
  [['verify', '--local', '--smtp-port', '0', 'jane@acme.example'], 64, /--smtp-port must be a whole number from 1 to 65535/],
  [['verify', '--local', '--dns-server', 'nowhere', 'jane@acme.example'], 64, /a DNS server must be an IP address/],
  [['verify', '--local', '--dns-sever', 'x', 'jane@acme.example'], 64, /no flag --dns-sever; did you mean --dns-server\?/],
  [['serve', '--region', 'mars'], 64, /--region must be us, eu, apac/],
  [['serve', '--sample', '--no-smtp'], 64, /--smtp does not go with --sample/],
  [['serve', '--store', 'x.sqlite', '--smtp'], 78, /--ehlo-name mail.example.com/],
  [['run', 'smaple'], 78, /no job "smaple".*did you mean sample\?/],
  [['run', '--input', 'a.csv', '--output', 'b.csv'], 78, /No service is chosen/],
  [['run', '--input', 'a.csv', '--output', 'b.csv', '--base-url', 'http://127.0.0.1:1', '--rpm', '1'], 78, /There is no API key/],
];

test.each(REFUSALS)('millrace %j is refused with %i', async (argv, code, message) => {
  const found = await commandHere(argv, CONTEXT);
  expect(found.stderr).toMatch(message);
  expect(found.stderr).toMatch(/^millrace: /);
  expect(found).toMatchObject({ code, stdout: '' });
});
