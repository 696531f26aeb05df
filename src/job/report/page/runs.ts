/** The sections of the job's runs and of its files. HTML. Pure. */
import { count } from '../../../util/display.ts';
import type { LoggedRun } from '../../../checkpoint/run-log.ts';
import type { PageData } from './page-data.ts';
import { figure, inline, texts } from './tables.ts';
import { codeElement, linkBeside, moment, named } from './words.ts';

export function runsSection({ report: { runs } }: PageData): string {
  const { count: all, killed, list } = runs;
  if (all === 0) return '<p>An earlier version of Millrace ran the job, and did not keep when.</p>';
  const resumed =
    `<p>${inline('runs.count', count(all))} ${all === 1 ? 'run' : 'runs'}: the start, and each resume and retry. ` +
    `${inline('runs.killed', count(killed))} ${killed === 1 ? 'was' : 'were'} killed.` +
    `${all > list.length ? ` The latest ${count(list.length)}:` : ''}</p>`;
  const rows = list.map((run, i) => [
    moment(Date.parse(run.startedAt)),
    run.endedAt === null ? '-' : moment(Date.parse(run.endedAt)),
    figure(`runs.list.${i}.end`, endOf(run)),
    `${codeElement(run.command)}${run.shard === undefined ? '' : ` (shard ${named(run.shard)})`}`,
    named(run.version),
  ]);
  return `${resumed}${texts(['Started (UTC)', 'Ended (UTC)', 'End', 'Command', 'Version'], rows, 'runs')}`;
}

function endOf({ end, code }: LoggedRun): string {
  switch (end) {
    case 'finished':
      return 'finished';
    case 'stopped':
      return code === null ? 'stopped' : `stopped: ${codeElement(code)}`;
    case 'killed':
      return 'killed: it could not write its last checkpoint';
    case null:
      return 'running';
    default:
      return end satisfies never;
  }
}

export function filesSection({ report: { files } }: PageData): string {
  if (files === null) return '<p>The rows went to standard output.</p>';
  const rows = [
    [linkBeside(files.output), 'the rows'],
    ...(files.errors === null ? [] : [[linkBeside(files.errors), 'each failed and invalid record, with its line and its code']]),
    ...(files.open === undefined ? [] : [[linkBeside(files.open), 'each row that lacks a field, and the providers that gave no answer']]),
    ...files.verdicts.map((uri) => [linkBeside(uri), 'the rows of one verdict']),
    [linkBeside(files.report), 'this report for programs'],
    [codeElement(files.checkpoint), 'the state of the job; without it a run starts over'],
  ];
  return texts(['File', 'Content'], rows);
}
