/** The head of the page: the figures of the run at a glance, and the facts about it. HTML. Pure. */
import { moneyText } from '../../../definition/credit-price.ts';
import { count, duration } from '../../../util/display.ts';
import { SAMPLE_DATA } from '../../progress/notices.ts';
import type { ReportedProvider } from '../provider-figures.ts';
import { kindRates } from '../../../writer/rates.ts';
import type { Report } from '../report.ts';
import type { PageData } from './page-data.ts';
import { inline } from './tables.ts';
import { bytes, codeElement, moment, named, points, shown } from './words.ts';

interface Tile {
  readonly name: string;
  /** HTML, as is `more`. */
  readonly value: string;
  readonly more: string;
}

const TITLES = { people: 'People', companies: 'Companies' } as const;

/** The figures that tell whether the night was good, each beside the last run. */
export function tiles({ report }: PageData): string {
  const { records, deliverableRate, recordsPerSecond, credits, creditsAtLeast, cost, previous } = report;
  const all: Tile[] = [
    {
      name: 'Records',
      value: inline('records.total', count(records.total)),
      more: before(previous, ({ records }) => count(records.total)),
    },
    ...kindRates(report).flatMap(({ kind, rate: share }) =>
      rate(`${TITLES[kind]} matched`, `${kind}.matchRate`, share, previous?.[kind]?.matchRate ?? null),
    ),
    ...rate('Deliverable', 'deliverableRate', deliverableRate, previous?.deliverableRate ?? null),
    {
      name: 'Failed',
      value: inline('records.failed', count(records.failed)),
      more: before(previous, ({ records }) => count(records.failed)),
    },
    {
      name: creditsAtLeast === undefined ? 'Credits' : 'Credits at least',
      value: inline('credits', count(credits)),
      more: cost === undefined ? before(previous, ({ credits }) => count(credits)) : `about ${moneyText(cost)}`,
    },
    ...(recordsPerSecond === null
      ? []
      : [
          {
            name: 'Records a second',
            value: inline('recordsPerSecond', count(recordsPerSecond)),
            more: before(previous, (last) => (last.recordsPerSecond === null ? '-' : count(last.recordsPerSecond))),
          },
        ]),
  ];
  return `<ul class="tiles">${all
    .map(({ name, value, more }) => `<li><b>${value}</b> ${name}${more === '' ? '' : `<small>${more}</small>`}</li>`)
    .join('\n')}</ul>`;
}

function before(previous: Report['previous'], of: (previous: NonNullable<Report['previous']>) => string): string {
  return previous === null ? '' : `last run ${of(previous)}`;
}

function rate(name: string, of: string, share: number | null, last: number | null): Tile[] {
  if (share === null) return [];
  const more = last === null ? '' : `last run ${inPercent(last)}, ${points(share - last)} points`;
  return [{ name, value: inline(of, inPercent(share)), more }];
}

function inPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

export function facts({ report, input }: PageData): [string, string][] {
  const { startedAt, finishedAt, output, service, activeMs, steps, command, previous, quota } = report;
  const more = input.files - input.names.length;
  const files = [
    ...input.names.map((name) => (name === '-' ? 'standard input' : codeElement(name))),
    ...(more > 0 ? [`and ${count(more)} more`] : []),
  ].join(', ');
  const plan = [
    ...(service.plan === null ? [] : [`plan ${named(service.plan)}`]),
    quota.rpm === null ? 'no limit of requests' : `${count(quota.rpm)} requests a minute`,
  ].join(', ');
  return [
    ...(report.providers === undefined
      ? [['Service', `${service.url === null ? 'embedded' : codeElement(service.url)}, ${plan}`] satisfies [string, string]]
      : [['Providers', Object.entries(report.providers).map(provider).join('<br>')] satisfies [string, string]]),
    ...(report.sampleData === true ? [['Answers', `<strong>${SAMPLE_DATA}</strong>`] satisfies [string, string]] : []),
    ...(command === null ? [] : [['Command', `<code>${shown(command)}</code>`] satisfies [string, string]]),
    ['Started', moment(Date.parse(startedAt))],
    ['Finished', finishedAt === null ? '-' : moment(Date.parse(finishedAt))],
    ['Ran for', inline('activeMs', duration(activeMs))],
    ['Last run', previous === null ? 'no report of one was found' : lastRun(previous)],
    ['Input', `${files} (${bytes(input.bytes)})`],
    ['Steps', steps.map(codeElement).join(', ')],
    ['Output', `${codeElement(output.uri)}: ${inline('output.rows', count(output.rows))} rows, ${bytes(output.bytes)}`],
    ...(output.sha256 === null ? [] : [['SHA-256', codeElement(output.sha256)] satisfies [string, string]]),
  ];
}

function provider([name, { definition, url, plan }]: [string, ReportedProvider]): string {
  const from = definition === name ? '' : ` (${named(definition)})`;
  return `${codeElement(name)}${from}: ${url === null ? 'embedded' : codeElement(url)}${plan === null ? '' : `, plan ${named(plan)}`}`;
}

function lastRun({ finishedAt, exitCode, records }: NonNullable<Report['previous']>): string {
  return `${moment(Date.parse(finishedAt))}, exit code ${exitCode}, ${count(records.total)} records`;
}
