/** A check of a provider definition for a terminal. Pure. */
import type { CallReport, Judged, ShownRequest, ShownWindow } from '../providers/check/call-report.ts';
import type { Summary } from '../providers/check/summary.ts';

/** Longer values are cut; `--json` has all of it. */
const MAX_VALUE = 160;
const MAX_BODY_LINES = 24;

export function summaryText({ name, title, file, baseUrl, apiKey, plans, defaultPlan, operations, lacks }: Summary): string {
  const rows: (readonly [string, string])[] = [
    ['address', baseUrl ?? 'named by each job'],
    ['API key', apiKey === null ? 'none' : `${apiKey.variable}, sent as ${apiKey.sent}`],
    ...Object.entries(plans).map(([plan, windows]): readonly [string, string] => [
      `plan ${plan}`,
      windowsText(windows, plan === defaultPlan),
    ]),
    ...operations.flatMap((operation): (readonly [string, string])[] => [
      [
        operation.name,
        [
          `by ${operation.keys.join(', ')}`,
          ...(operation.request === null ? [] : [operation.request]),
          ...(operation.batch === null ? [] : [`batches of ${operation.batch}`]),
          ...(operation.pollSeconds === null ? [] : [`may answer later, asked again every ${operation.pollSeconds} s`]),
          `at most ${operation.creditsAtMost} ${operation.creditsAtMost === 1 ? 'credit' : 'credits'}`,
        ].join('; '),
      ],
      ...Object.entries(operation.plans ?? {}).map(([plan, windows]): readonly [string, string] => [
        `  plan ${plan}`,
        windowsText(windows, false),
      ]),
    ]),
  ];
  const wide = Math.max(...rows.map(([label]) => label.length));
  return clean([
    `${name}${title === null ? '' : `: ${title}`} (${file})`,
    ...rows.map(([label, value]) => `  ${label.padEnd(wide)}  ${value}`),
    ...lacks.map((sentence) => `  - ${sentence}`),
  ]);
}

function windowsText(windows: readonly string[], isDefault: boolean): string {
  return `${windows.length === 0 ? 'no limit' : windows.join(', ')}${isDefault ? ' (the default)' : ''}`;
}

export function reportText({ name, operation, request, answer, judged, credits, quota, differences }: CallReport): string {
  const isWrong = differences.length > 0;
  return clean([
    `${operation}: ${name}`,
    ...(request === null ? [] : requestLines(request)),
    ...(answer === null ? [] : [`  answer   ${answer.status === 0 ? 'none came' : answer.status}`, ...bodyLines(answer.body)]),
    ...judged.flatMap((one) => judgedLines(one, judged.length > 1)),
    `  credits  ${credits}`,
    ...(quota.length === 0 ? [] : [`  quota    ${quota.map(windowText).join('; ')}`]),
    ...(isWrong ? differences.map((difference) => `  NOT AS EXPECTED: ${difference}`) : []),
  ]);
}

function requestLines({ method, url, headers, body }: ShownRequest): string[] {
  return [
    `  request  ${method} ${url}`,
    ...Object.entries(headers).map(([header, value]) => `           ${header}: ${value}`),
    ...bodyLines(body),
  ];
}

function bodyLines(body: unknown): string[] {
  if (body === null || body === undefined) return [];
  const lines = (typeof body === 'string' ? body : JSON.stringify(body, null, 2)).split('\n');
  const more = lines.length > MAX_BODY_LINES ? [`... ${lines.length - MAX_BODY_LINES} more lines: --json shows them`] : [];
  return [...lines.slice(0, MAX_BODY_LINES), ...more].map((line) => `           ${cut(line)}`);
}

function judgedLines({ lookup, kind, why, record, waitSeconds }: Judged, isOneOfSeveral: boolean): string[] {
  const whose = isOneOfSeveral ? ` (${Object.values(lookup).join(', ')})` : '';
  const wait = waitSeconds === null ? '' : `, ${waitSeconds} s`;
  return [
    `  judged   ${kind}${wait}${whose}: ${why}`,
    ...flatten(record ?? {}, '').map(([path, value]) => `           ${path} = ${cut(value)}`),
  ];
}

function windowText({ window, limit, remaining, resetSeconds }: ShownWindow): string {
  const left = remaining === null ? `${limit}` : `${remaining}${limit === null ? '' : ` of ${limit}`} left`;
  return `${window}: ${left}${resetSeconds === null ? '' : `, anew in ${resetSeconds} s`}`;
}

function flatten(record: Readonly<Record<string, unknown>>, path: string): (readonly [string, string])[] {
  return Object.entries(record).flatMap(([name, value]): (readonly [string, string])[] => {
    const here = path === '' ? name : `${path}.${name}`;
    if (value === null || value === undefined) return [];
    if (typeof value === 'object' && !Array.isArray(value)) return flatten(value as Readonly<Record<string, unknown>>, here);
    return [[here, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}

const cut = (text: string): string => (text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : text);

/** Control characters could move the cursor, or worse. */
function clean(lines: readonly string[]): string {
  return lines.map((line) => line.replaceAll(/\p{C}/gu, '\ufffd')).join('\n');
}
