/** `millrace provider check`: a definition against its schema, recorded answers, and where told to, the vendor. */
import { keyFileReader, readApiKey } from '../client/api-key.ts';
import { parseBaseUrl } from '../client/base-url.ts';
import { keyVariable } from '../definition/job-provider.ts';
import { readAnswers } from '../providers/check/answers-file.ts';
import { ask } from '../providers/check/ask.ts';
import type { CallReport } from '../providers/check/call-report.ts';
import { checkAnswers } from '../providers/check/check-answers.ts';
import { lookupOf, operationFor } from '../providers/check/lookup-key.ts';
import { summaryOf } from '../providers/check/summary.ts';
import type { CompiledProvider, OperationName } from '../providers/compiled-provider.ts';
import { DefinitionError } from '../providers/definition-error.ts';
import { compileProvider, faultsOf } from '../providers/definition/compile-provider.ts';
import { placeOf, type DefinitionFile } from '../providers/definition/definition-file.ts';
import { loadProvider } from '../providers/definition/load-provider.ts';
import { ConfigError, EXIT, UsageError, type ExitCode } from '../util/errors.ts';
import { describeFailure } from './failure.ts';
import { switchOf, textOf, wordOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';
import { reportText, summaryText } from './provider-tables.ts';
import { withStopSignals } from './signals.ts';

const OPERATIONS = ['enrich', 'verify', 'company', 'reveal'] as const;
/** Real calls at most: this is for a look, and a job is for the rest. */
const MAX_CALLS = 20;

/** 0; 1 when an answer is not judged as expected; 78 for a definition with faults. Sends nothing without `--call`. */
export async function providerCheck(invocation: Invocation): Promise<ExitCode> {
  const [ref, ...keys] = invocation.keys;
  const isCall = switchOf(invocation, 'call');
  const only = wordOf(invocation, 'operation', OPERATIONS);
  const answersFile = textOf(invocation, 'answers');
  const given = textOf(invocation, 'base-url');
  const baseUrl = given === null ? null : addressOf(given);
  if (ref === undefined)
    throw new UsageError('no_definition', 'millrace provider check needs a definition: a file, or a name under jobs/providers/', {
      hint: 'Such as: millrace provider check acme.yaml',
    });
  checkKeys(isCall, keys);
  const asJson = switchOf(invocation, 'json') || !process.stdout.isTTY;
  const definition = await loadProvider(ref);
  const faults = faultsOf(definition);
  if (faults.length > 0) return refuse(definition, faults, asJson);
  const provider = compileProvider(definition);
  if (only !== null && provider.operations[only] === undefined)
    throw new UsageError('bad_value', `--operation: the definition has no ${only}`, {
      hint: `It has ${Object.keys(provider.operations).join(', ')}.`,
    });
  const summary = summaryOf(provider, keyVariable(provider.name));
  // A look at the vendor is not buried under recorded answers.
  const recorded = isCall && answersFile === null ? null : await readAnswers(answersFile, provider.file);
  const answers = recorded === null ? [] : await checkAnswers(provider, recorded, only, baseUrl);
  if (!asJson) {
    process.stdout.write(`${summaryText(summary)}\n`);
    for (const report of answers) process.stdout.write(`\n${reportText(report)}\n`);
  }
  const calls = isCall ? await callEach(provider, keys, { only, baseUrl, env: invocation.env, show: asJson ? null : showCall }) : [];
  if (asJson)
    process.stdout.write(
      `${JSON.stringify({ definition: summary, faults: [], answersFile: recorded?.file ?? null, answers, calls }, null, 2)}\n`,
    );
  return conclude(answers, calls, recorded?.file ?? null);
}

function addressOf(text: string): string {
  const { origin, prefix } = parseBaseUrl(text);
  return origin + prefix;
}

function checkKeys(isCall: boolean, keys: readonly string[]): void {
  const [extra] = keys;
  const hint = 'Such as: millrace provider check acme.yaml --call jane@example.com';
  if (isCall && extra === undefined) throw new UsageError('no_key', '--call needs to know what to look up', { hint });
  if (!isCall && extra !== undefined)
    throw new UsageError('extra_argument', `There is one argument too many: ${JSON.stringify(extra.slice(0, 80))}`, {
      hint: 'With --call the keys after the definition are looked up, by real calls.',
    });
  if (keys.length > MAX_CALLS)
    throw new UsageError('too_many_keys', `--call makes ${MAX_CALLS} calls at most, and ${keys.length} keys are given`, {
      hint: 'For more, run a job with --limit.',
    });
}

function refuse(definition: DefinitionFile, faults: readonly ConfigError[], asJson: boolean): ExitCode {
  if (asJson) {
    const listed = faults.map((fault) => {
      const key = fault instanceof DefinitionError ? fault.key : null;
      const place = key === null ? { file: definition.file, line: null } : placeOf(definition, key);
      return { ...place, key, code: fault.code, message: fault.message, hint: fault.hint ?? null };
    });
    process.stdout.write(`${JSON.stringify({ definition: null, faults: listed, answersFile: null, answers: [], calls: [] }, null, 2)}\n`);
  }
  const colour = process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '';
  for (const fault of faults) process.stderr.write(describeFailure(fault, colour).text);
  return EXIT.config;
}

const showCall = (report: CallReport): void => void process.stdout.write(`\n${reportText(report)}\n`);

interface CallOptions {
  readonly only: OperationName | null;
  readonly baseUrl: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly show: ((report: CallReport) => void) | null;
}

/** One real call for each key, one after another. */
async function callEach(
  provider: CompiledProvider,
  keys: readonly string[],
  { only, baseUrl: given, env, show }: CallOptions,
): Promise<readonly CallReport[]> {
  const baseUrl = given ?? provider.baseUrl;
  if (baseUrl === null)
    throw new UsageError('no_address', `${provider.file} has no baseUrl, so --call needs one`, {
      hint: 'Say --base-url https://api.example.com.',
    });
  const declared = Object.values(provider.operations).filter(({ name }) => only === null || name === only);
  const asked = keys.map((key) => {
    const lookup = lookupOf(key);
    return { key, lookup, operation: operationFor(lookup, declared) };
  });
  const apiKey = await apiKeyOf(provider, env);
  const most = asked.reduce((sum, { operation }) => sum + (provider.operations[operation]?.creditsAtMost ?? 0), 0);
  const operations = [...new Set(asked.map(({ operation }) => operation))].join(' and ');
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
  process.stderr.write(
    `millrace: asks ${provider.title ?? provider.name} at ${baseUrl} now: ${count(asked.length, 'call')} of ${operations}, ` +
      `at most ${count(most, 'credit')} by the definition\n`,
  );
  return withStopSignals(async ({ drain, abort }) => {
    const reports: CallReport[] = [];
    for (const { key, lookup, operation } of asked) {
      if (drain.aborted) throw drain.reason;
      const question = { name: key, operation, lookups: [lookup], together: false, ticket: null };
      const report = await ask({ provider, baseUrl, apiKey, signal: abort }, question);
      reports.push(report);
      show?.(report);
    }
    return reports;
  }, 'Calls that were made are paid; the same command makes all of them again.');
}

async function apiKeyOf({ name, authentication }: CompiledProvider, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (authentication === null) return null;
  const variable = keyVariable(name);
  const key = (await readApiKey(env, variable)) ?? (await keyFileReader(env, variable)?.()) ?? null;
  if (key !== null) return key;
  throw new ConfigError('no_api_key', `There is no API key for the provider ${name}`, {
    hint: `Set ${variable}, or ${variable}_FILE to the path of a file that holds it.`,
  });
}

/** The kinds of answers with which a definition and its API key work. */
const RESULTS: ReadonlySet<string> = new Set(['match', 'miss', 'suppressed', 'pending']);

/** An address without a verdict fails in a run, too. */
function isResult(operation: OperationName, kind: string): boolean {
  return RESULTS.has(kind) && !(operation === 'verify' && kind === 'miss');
}

function conclude(answers: readonly CallReport[], calls: readonly CallReport[], file: string | null): ExitCode {
  const wrong = answers.filter(({ differences }) => differences.length > 0);
  const failed = calls.filter(({ operation, judged }) => judged.some(({ kind }) => !isResult(operation, kind)));
  if (answers.length > 0)
    process.stderr.write(
      `millrace: ${answers.length - wrong.length} of ${answers.length} recorded answers are judged as expected (${file})\n`,
    );
  for (const { name, differences } of wrong) for (const difference of differences) process.stderr.write(`  ${name}: ${difference}\n`);
  if (failed.length > 0) process.stderr.write(`millrace: ${failed.length} of ${calls.length} calls brought no result\n`);
  return wrong.length + failed.length > 0 ? EXIT.tooManyFailed : EXIT.ok;
}
