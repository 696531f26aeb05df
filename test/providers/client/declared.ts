/** Small definitions for tests, and a declared client of each. */
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import type { ProviderClient } from '../../../src/client/provider-client.ts';
import type {
  AnswerRules,
  CompiledProvider,
  Mapping,
  OperationName,
  ProviderBatch,
  ProviderOperation,
  ProviderPoll,
  ProviderRequest,
} from '../../../src/providers/compiled-provider.ts';
import { DeclaredClient, type DeclaredClientOptions } from '../../../src/providers/client/declared-client.ts';
import { compileMapping } from '../../../src/providers/mapping.ts';
import { compileTree } from '../../../src/providers/mapping/compile-tree.ts';
import { cleanUp } from '../../support/clean-up.ts';

export const KEY = 'key_51x-very/secret+1';

interface RequestText {
  readonly method?: ProviderRequest['method'];
  readonly baseUrl?: string;
  /** With `{expression}` where a value is put in. */
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly bodyType?: 'json' | 'form';
}

type RulesText = Readonly<Partial<Record<keyof AnswerRules, string>>>;

interface BatchText {
  readonly size?: number;
  readonly request?: RequestText;
  readonly items?: string;
  readonly itemStatus?: string;
  readonly itemId?: string;
  readonly answers?: RulesText;
  readonly credits?: string;
  readonly quota?: ProviderBatch['quota'];
}

interface PollText extends Partial<Omit<ProviderPoll, 'ticket' | 'request'>> {
  readonly ticket?: string;
  readonly request?: RequestText;
}

export interface OperationText {
  readonly absent?: readonly string[];
  /** Null: lookups go by batch alone. */
  readonly request?: RequestText | null;
  readonly answers?: RulesText;
  readonly record?: unknown;
  readonly credits?: string;
  readonly creditsAtMost?: number;
  readonly batch?: BatchText;
  readonly poll?: PollText;
  readonly quota?: ProviderOperation['quota'];
}

export interface ProviderText extends Partial<Omit<CompiledProvider, 'operations'>> {
  readonly operations: Readonly<Record<string, OperationText>>;
}

const ROUND = /\{([^}]*)\}/;

const tree = (key: string, value: unknown): Mapping => compileTree(key, value, () => 'test.yaml');
const optional = (key: string, text: string | undefined): Mapping | null => (text === undefined ? null : compileMapping(key, text, ''));
const all = (key: string, texts: Readonly<Record<string, string>> = {}): Readonly<Record<string, Mapping>> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, compileMapping(`${key}.${name}`, text, '')]));

function requestOf(
  key: string,
  { method = 'GET', baseUrl, path = '/', query, headers, body, bodyType = 'json' }: RequestText,
): ProviderRequest {
  const parts = path.split(ROUND).map((part, index) => (index % 2 === 0 ? part : compileMapping(`${key}.path`, part, '')));
  return {
    method,
    baseUrl: baseUrl ?? null,
    path: parts.filter((part) => part !== ''),
    query: all(`${key}.query`, query),
    headers: all(`${key}.headers`, headers),
    body: body === undefined ? null : tree(`${key}.body`, body),
    bodyType,
  };
}

const RULES = 'suppressed wait outOfCredits denied pending match miss refused retry waitSeconds code message'.split(
  ' ',
) as (keyof AnswerRules)[];

function rulesOf(key: string, texts: RulesText = {}): AnswerRules {
  return Object.fromEntries(RULES.map((name) => [name, optional(`${key}.answers.${name}`, texts[name])])) as unknown as AnswerRules;
}

function batchOf(key: string, batch: BatchText): ProviderBatch {
  return {
    size: batch.size ?? 100,
    request: requestOf(`${key}.request`, { method: 'POST', path: '/bulk', body: { lookups: 'lookups' }, ...batch.request }),
    items: compileMapping(`${key}.items`, batch.items ?? 'body', ''),
    itemStatus: optional(`${key}.itemStatus`, batch.itemStatus),
    itemId: optional(`${key}.itemId`, batch.itemId),
    answers: rulesOf(key, batch.answers),
    credits: optional(`${key}.credits`, batch.credits),
    quota: batch.quota ?? null,
  };
}

function operationOf(name: OperationName, text: OperationText): ProviderOperation {
  const key = `operations.${name}`;
  const { request = {}, batch, poll } = text;
  return {
    name,
    keys: ['email'],
    request: request === null ? null : requestOf(`${key}.request`, request),
    answers: rulesOf(key, text.answers),
    record: tree(`${key}.record`, text.record ?? { name: 'body.name' }),
    fields: Object.keys(text.record ?? { name: '' }),
    ...(text.absent === undefined ? {} : { absent: text.absent }),
    credits: optional(`${key}.credits`, text.credits),
    creditsAtMost: text.creditsAtMost ?? 1,
    creditsAt: 'answer',
    batch: batch === undefined ? null : batchOf(`${key}.batch`, batch),
    poll:
      poll === undefined
        ? null
        : {
            ticket: optional(`${key}.poll.ticket`, poll.ticket),
            request: poll.request === undefined ? null : requestOf(`${key}.poll.request`, poll.request),
            next: null,
            firstMs: poll.everyMs ?? 5_000,
            everyMs: poll.everyMs ?? 5_000,
            growth: 1,
            maxOpen: null,
            quota: null,
            longestMs: poll.longestMs ?? 600_000,
          },
    quota: text.quota ?? null,
  };
}

export function providerOf({ operations, ...more }: ProviderText): CompiledProvider {
  const compiled = Object.entries(operations).map(([name, text]) => [name, operationOf(name, text)]);
  return {
    name: 'test',
    file: 'test.yaml',
    title: null,
    documentation: [],
    readOn: null,
    client: 'declared',
    baseUrl: null,
    authentication: { kind: 'bearer' },
    headers: {},
    tls: null,
    timeoutMs: 30_000,
    concurrency: 'auto',
    idempotencyHeader: null,
    defaultPlan: null,
    quota: { plans: {}, headers: null },
    operations: Object.fromEntries(compiled) as CompiledProvider['operations'],
    requestDigests: {},
    digest: '',
    ...more,
  };
}

/** A client of a definition, closed after the test. */
export function declaredClient(
  baseUrl: string,
  text: ProviderText,
  options: Partial<DeclaredClientOptions> = {},
): DeclaredClient & ProviderClient {
  const provider = providerOf(text);
  const client = new DeclaredClient({ provider, baseUrl, apiKey: new RotatingKey(KEY), timeoutMs: 30_000, connections: 8, ...options });
  cleanUp(() => client.destroy());
  return client;
}
