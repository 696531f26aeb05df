/** docs/providers.md, as a reader follows it: every file is written, every command is run, and prints what the page shows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { reportText, summaryText } from '../../src/cli/provider-tables.ts';
import type { CallReport } from '../../src/providers/check/call-report.ts';
import type { Summary } from '../../src/providers/check/summary.ts';
import { answer, serve } from '../client/servers.ts';
import { commandHere } from '../support/command-here.ts';

const PAGE = readFileSync('docs/providers.md', 'utf8');
const KEY = 'acme-secret-key-0001';
const BLOCKS = [...PAGE.matchAll(/^```(\w+)(?: file=(\S+))?\n([^]*?)^```$/gm)].map(([, kind = '', file, text = '']) => ({
  kind,
  file,
  text,
}));

interface Ran {
  readonly command: string;
  readonly code: number;
  /** Everything that was printed, and the text of the terminal for it. */
  readonly printed: string;
  /** The lines that the page shows. */
  readonly shown: readonly string[];
}

const ran: Ran[] = [];
let output = '';

/** Acme Data as its page describes it. */
const acme = (): Promise<string> =>
  serve((request, reply) => {
    const url = new URL(request.url ?? '', 'http://acme.example');
    if (request.headers['x-api-key'] !== KEY) return answer(reply, { status: 401, body: '{"error": {"type": "bad_key"}}' });
    const person = { full_name: 'Ada Example', work_email: 'ada@example.com', job_title: 'Engineer', key: KEY };
    const isKnown = url.searchParams.get('email') === 'ada@example.com';
    return answer(reply, { status: 200, body: JSON.stringify({ data: isKnown ? person : null, credits: isKnown ? 1 : 0 }) });
  });

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-page-'));
  const url = await acme();
  writeFileSync(join(folder, 'leads.csv'), 'email\nada@example.com\nnobody@example.com\n');
  for (const { kind, file, text } of BLOCKS) {
    if (file !== undefined) writeFileSync(join(folder, file), text);
    if (kind !== 'console') continue;
    for (const part of text.split(/^\$ /m).slice(1)) {
      const [command = '', ...shown] = part.trimEnd().split('\n');
      ran.push({ command, shown, ...(await run(command, folder, url)) });
    }
  }
  output = readFileSync(join(folder, 'leads.enriched.csv'), 'utf8');
  rmSync(folder, { recursive: true });
}, 60_000);

/** Runs a command of the page against the server. */
async function run(command: string, folder: string, url: string): Promise<{ code: number; printed: string }> {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1);
  const address = words.includes('--call')
    ? ['--base-url', url]
    : ['run', 'plan'].includes(words[0] ?? '')
      ? ['--providers.acme-data.baseUrl', url]
      : [];
  const quiet = words[0] === 'run' ? ['--progress', 'none'] : [];
  const env = { MILLRACE_ACME_DATA_API_KEY: KEY };
  const { code, stdout, stderr } = await commandHere([...words, ...address, ...quiet], { cwd: folder, env, stdin: '' });
  const printed = `${stdout}${stderr}${stdout.startsWith('{') ? terminalOf(stdout) : ''}`.replaceAll(url, 'https://api.acme.example/v1');
  return { code, printed };
}

/** The same as a terminal shows it. */
function terminalOf(json: string): string {
  const { definition, answers, calls } = JSON.parse(json) as {
    definition: Summary | null;
    answers: readonly CallReport[];
    calls: readonly CallReport[];
  };
  return [...(definition === null ? [] : [summaryText(definition)]), ...[...answers, ...calls].map(reportText)].join('\n');
}

describe('the page about providers', () => {
  it('has commands and files in its blocks', () => {
    expect(ran.length).toBeGreaterThan(7);
    expect(BLOCKS.filter(({ kind }) => ['yaml', 'json'].includes(kind)).every(({ file }) => file !== undefined)).toBe(true);
  });

  it('shows for each command the lines that it prints', () => {
    for (const { command, printed, shown } of ran)
      expect([command, shown.filter((line) => !printed.includes(line))]).toEqual([command, []]);
  });

  it('says of each check whether every answer is judged as expected', () => {
    const codes = ran.filter(({ command }) => command.includes('provider check')).map(({ code }) => code);
    expect(codes).toEqual([1, ...codes.slice(1).map(() => 0)]);
    expect(ran.filter(({ command }) => !command.includes('provider check')).map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('masks the API key also where the vendor echoes it', () => {
    const call = ran.find(({ command }) => command.includes('--call'));
    expect(call?.printed).toContain('"key": "***"');
    expect(ran.filter(({ printed }) => printed.includes(KEY))).toEqual([]);
  });

  it('ends with a pilot whose output has the record', () => {
    expect(output).toContain('Ada Example');
    expect(output).not.toContain(KEY);
  });
});
