/** Small definitions and recorded answers for the tests of a check. */
import type { RecordedAnswer } from '../../../src/providers/check/answers-file.ts';
import { checkAnswers } from '../../../src/providers/check/check-answers.ts';
import type { CallReport } from '../../../src/providers/check/call-report.ts';
import { compiled } from '../definition/support.ts';

/** A definition of enrich by e-mail address, with these lines at its end. */
export const acme = (lines = '', head = 'authentication: {header: X-Key}'): string => `name: acme
baseUrl: https://api.acme.example/v1
${head}
operations:
  enrich:
    keys: [email, name+domain]
    request: {path: /people, query: {email: email, name: name, domain: domain}}
    record: {email: body.email, title: body.title, company: {employees: body.employees}}
${lines.replaceAll(/^(?=.)/gm, '    ')}`;

export function recorded(response: Partial<RecordedAnswer['response']>, more: Partial<RecordedAnswer> = {}): RecordedAnswer {
  const lookups = [{ email: 'ada@example.com' }];
  return { name: 'an answer', operation: 'enrich', lookups, ...more, response: { status: 200, headers: {}, ...response } };
}

/** The report of one recorded answer. */
export async function checked(definition: string, answer: RecordedAnswer): Promise<CallReport> {
  const [report] = await checkAnswers(compiled(definition), { file: 'acme.answers.json', answers: [answer] }, null, null);
  if (report === undefined) throw new Error('no report');
  return report;
}
