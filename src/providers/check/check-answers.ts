/** Runs a definition against recorded answers, without any network, and compares with what is expected. */
import { isDeepStrictEqual } from 'node:util';
import type { CompiledProvider, OperationName, ProviderRequest } from '../compiled-provider.ts';
import type { ProviderKey } from '../../steps/keys.ts';
import { ConfigError } from '../../util/errors.ts';
import type { Expected, Lookup, RecordedAnswer, RecordedAnswers } from './answers-file.ts';
import { ask } from './ask.ts';
import type { CallReport, Judged } from './call-report.ts';
import { replayWire } from './replay.ts';

/** Stands for the API key: no vendor's answer holds it. */
const NO_KEY = 'millrace-check-has-no-api-key';
/** Stands for an address that each job names. */
export const NO_ADDRESS = 'https://base-url.invalid';
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** For an answer to a request without anything to look up. */
const EXAMPLES: Readonly<Record<ProviderKey, Lookup>> = {
  email: { email: 'person@example.com' },
  linkedin_url: { linkedin_url: 'https://www.linkedin.com/in/person' },
  phone: { phone: '+12125550100' },
  'name+domain': { name: 'Example Person', domain: 'example.com' },
  'name+company': { name: 'Example Person', company: 'Example' },
  domain: { domain: 'example.com' },
};

/** @param only one operation; null: all of them @throws ConfigError for an answer of an operation that the definition lacks */
export async function checkAnswers(
  provider: CompiledProvider,
  { file, answers }: RecordedAnswers,
  only: OperationName | null,
  baseUrl: string | null,
): Promise<readonly CallReport[]> {
  const reports: CallReport[] = [];
  for (const answer of answers) {
    if (only !== null && answer.operation !== only) continue;
    const operation = provider.operations[answer.operation];
    if (operation === undefined)
      throw new ConfigError('bad_answers', `"${answer.name}" answers ${answer.operation}, which the definition lacks (${file})`, {
        hint: `The definition has ${Object.keys(provider.operations).join(', ')}.`,
      });
    const [key = 'email'] = operation.keys;
    const lookups = answer.lookups.length === 0 ? [EXAMPLES[key]] : answer.lookups;
    const { batch, request } = operation;
    const together = lookups.length > 1 || request === null || (batch !== null && isFor(answer, batch.request) && !isFor(answer, request));
    const { name, ticket = null, response } = answer;
    const report = await ask(
      {
        provider,
        baseUrl: baseUrl ?? provider.baseUrl ?? NO_ADDRESS,
        apiKey: provider.authentication === null ? null : NO_KEY,
        wire: replayWire(response),
        maxResponseBytes: MAX_RESPONSE_BYTES,
      },
      { name, operation: answer.operation, lookups, together, ticket },
    );
    reports.push({ ...report, differences: differencesOf(answer, report) });
  }
  return reports;
}

/** Whether the recorded path is that of this request, whose paths may begin behind a prefix of the address. */
function isFor({ request }: RecordedAnswer, { path }: ProviderRequest): boolean {
  const recorded = request?.path?.split('?')[0];
  return recorded !== undefined && path.every((part) => typeof part === 'string') && recorded.endsWith(path.join(''));
}

/** An answer that does not fit the definition, or gets no request, is wrong whatever is expected. */
function differencesOf({ expect }: RecordedAnswer, { judged }: CallReport): readonly string[] {
  return judged.flatMap((found, index) => {
    const wanted = Array.isArray(expect) ? expect[index] : expect;
    const where = judged.length === 1 ? '' : `lookup ${index + 1}: `;
    if (wanted === undefined) return ['unfit', 'notAsked', 'leftOut'].includes(found.kind) ? [`${where}${found.why}`] : [];
    return differences(wanted, found).map((difference) => `${where}${difference}`);
  });
}

function differences({ kind, record, credits }: Expected, found: Judged): string[] {
  if (found.kind !== kind) return [`expected ${kind}, got ${found.kind}: ${found.why}`];
  const fields = Object.entries(record ?? {}).flatMap(([name, value]) => {
    const got = found.record?.[name];
    return isDeepStrictEqual(got ?? null, value)
      ? []
      : [`record.${name}: expected ${shown(value)}, got ${got === undefined ? 'nothing' : shown(got)}`];
  });
  const cost = credits === undefined || credits === found.credits ? [] : [`credits: expected ${credits}, got ${found.credits}`];
  return [...fields, ...cost];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
