/** Compiles a definition, once: validated, relations checked, mappings parsed, frozen. */
import { dirname, resolve } from 'node:path';
import { nameOf } from '../../documents/find-document.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import type { Authentication, CompiledProvider, ProviderOperation, ProviderTls } from '../compiled-provider.ts';
import { checkHeaders } from './check-headers.ts';
import { checkShape, shapeOf } from './check-shape.ts';
import { checkUrl } from './check-url.ts';
import { compileOperation } from './compile-operation.ts';
import { compileQuota } from './compile-quota.ts';
import { placeOf, refusalAt, type DefinitionFile } from './definition-file.ts';
import { digestOf, requestDigest } from './digests.ts';
import type { DefinitionError } from '../definition-error.ts';
import type { ConfigError } from '../../util/errors.ts';
import { PROVIDER_NAME, type RawOperation } from './schema.ts';
import { refuseSecrets } from './secrets.ts';
import { tried, type Source } from './source.ts';
import { isStandard, STEPS, type ByStep } from '../../steps/registry.ts';
import { checkOwnStep } from './own-step.ts';

/** The definition of the specification's service, which has a typed client. */
const SPECIFICATION = 'millrace';

/** @throws ConfigError that names file, line and key, with what to write instead */
export function compileProvider(definition: DefinitionFile): CompiledProvider {
  return compiled({ definition, raw: checkShape(definition) });
}

/**
 * Every fault that can be told beside the others, in the order of their lines in the definition; empty for a sound one.
 * @throws ConfigError when the definition is no mapping
 */
export function faultsOf(definition: DefinitionFile): readonly ConfigError[] {
  const { raw, faults } = shapeOf(definition);
  if (raw === null) return faults;
  const found: DefinitionError[] = [];
  const source: Source = { definition, raw, onFault: (fault) => found.push(fault) };
  tried(source, null, () => compiled(source));
  const lineOf = ({ key }: DefinitionError): number => placeOf(definition, key).line ?? 0;
  return found.toSorted((a, b) => lineOf(a) - lineOf(b));
}

function compiled(source: Source): CompiledProvider {
  const { definition, raw } = source;
  const check = <T, I>(instead: I, work: () => T): T | I => tried(source, instead, work);
  check(null, () => refuseSecrets(definition));
  const name = check('', () => providerName(source));
  check(null, () => checkClient(source, name));
  const headers = raw.headers ?? {};
  check(null, () => checkHeaders(definition, raw, 'headers', Object.keys(headers)));
  const none = { plans: {}, headers: null };
  const quota = check(none, () => (raw.quota === undefined ? none : compileQuota(source, 'quota', raw.quota)));
  const operations = compileOperations(source);
  return deepFreeze({
    name,
    file: definition.file,
    title: raw.title ?? null,
    documentation: raw.documentation ?? [],
    readOn: raw.readOn ?? null,
    client: raw.client,
    baseUrl: check(null, () => (raw.baseUrl === undefined ? null : checkUrl(definition, 'baseUrl', raw.baseUrl))),
    authentication: check(null, () => compileAuthentication(source, Object.values(operations))),
    headers,
    tls: check(null, () => compileTls(source)),
    timeoutMs: raw.timeoutMs,
    concurrency: raw.concurrency,
    idempotencyHeader: raw.idempotency?.header ?? null,
    defaultPlan: check(null, () => compileDefaultPlan(source)),
    quota,
    operations,
    requestDigests: Object.fromEntries(Object.values(operations).map((operation) => [operation.name, requestDigest(operation, headers)])),
    digest: digestOf(definition.value),
  });
}

function checkClient({ definition, raw }: Source, name: string): void {
  if (raw.client !== 'built-in' || name === SPECIFICATION) return;
  throw refusalAt(
    definition,
    'client',
    'bad_value',
    `client: built-in is for the definition ${SPECIFICATION} only, and this one is ${name}`,
    `Write client: declared, or name: ${SPECIFICATION} where the provider is that service.`,
  );
}

function providerName({ definition, raw }: Source): string {
  const name = raw.name ?? nameOf(definition.file);
  if (PROVIDER_NAME.test(name)) return name;
  throw refusalAt(
    definition,
    'name',
    'missing_key',
    `name is missing, and the file's name ${show(name)} is none`,
    'A name is of lower-case letters, digits and -, such as acme-data.',
  );
}

function compileOperations(source: Source): Record<string, ProviderOperation> {
  const written: ByStep<RawOperation | undefined> = source.raw.operations;
  const custom = Object.keys(written).filter((name) => !isStandard(name));
  for (const name of custom) tried(source, null, () => checkOwnStep(source, name));
  const found = [...STEPS, ...custom].flatMap((name) => {
    const raw = written[name];
    return raw === undefined ? [] : tried(source, [], () => [compileOperation(source, name, raw)]);
  });
  if (Object.keys(written).length === 0)
    throw refusalAt(source.definition, 'operations', 'missing_key', 'operations is empty', `It takes ${STEPS.join(', ')}.`);
  return Object.fromEntries(found.map((operation) => [operation.name, operation]));
}

function compileAuthentication(
  { definition, raw: { authentication: raw } }: Source,
  operations: readonly ProviderOperation[],
): Authentication | null {
  if (raw === undefined) return null;
  const ways = (['bearer', 'header', 'query', 'body', 'basic'] as const).filter((way) => raw[way] !== undefined);
  const refuse = (problem: string): Error =>
    refusalAt(definition, 'authentication', 'bad_value', `authentication ${problem}`, 'Such as {bearer: true} or {header: X-Api-Key}.');
  if (ways.length !== 1 && ways.join() !== 'query,body')
    throw refuse(ways.length === 0 ? 'needs one of bearer, header, query, body, basic' : `has both ${ways.join(' and ')}: keep one`);
  if (raw.prefix !== undefined && raw.header === undefined) throw refuse('has a prefix without its header');
  if (raw.bearer !== undefined) return { kind: 'bearer' };
  if (raw.header !== undefined) return { kind: 'header', name: raw.header, prefix: raw.prefix ?? '' };
  if (raw.body !== undefined) {
    const bare = operations.find(({ request, batch, poll }) => [request, batch?.request, poll?.request].some((one) => one?.body === null));
    if (bare !== undefined && raw.query === undefined)
      throw refuse(`sends the API key in the body, and ${bare.name} has a request without one: add query, the parameter for those`);
    return { kind: 'body', name: raw.body, query: raw.query ?? null };
  }
  if (raw.query !== undefined) return { kind: 'query', name: raw.query };
  const { user = null, password = null } = raw.basic ?? {};
  if ((user === null) === (password === null)) throw refuse('needs either basic.user or basic.password: the other one is the API key');
  return { kind: 'basic', user, password };
}

function compileTls({ definition, raw: { tls: raw } }: Source): ProviderTls | null {
  if (raw === undefined) return null;
  if ((raw.certFile === undefined) !== (raw.keyFile === undefined))
    throw refusalAt(definition, 'tls', 'bad_value', 'tls needs both certFile and keyFile, or neither');
  // A path starts at the folder of the file that has it, which may be a definition that this one uses.
  const at = (name: 'caFile' | 'certFile' | 'keyFile'): string | null => {
    const path = raw[name];
    return path === undefined ? null : resolve(dirname(placeOf(definition, `tls.${name}`).file), path);
  };
  return { caFile: at('caFile'), certFile: at('certFile'), keyFile: at('keyFile') };
}

function compileDefaultPlan({ definition, raw }: Source): string | null {
  if (raw.defaultPlan === undefined) return null;
  const known = Object.keys(raw.quota?.plans ?? {});
  if (known.includes(raw.defaultPlan)) return raw.defaultPlan;
  throw refusalAt(
    definition,
    'defaultPlan',
    'unknown_plan',
    `defaultPlan is ${show(raw.defaultPlan)}, which quota.plans lacks${didYouMean(nearest(raw.defaultPlan, known))}`,
    known.length === 0 ? 'List the plans of the provider under quota.plans.' : `Its plans: ${known.join(', ')}.`,
  );
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null && !Object.isFrozen(member)) deepFreeze(member);
  return Object.freeze(value);
}
