/** A definition in short. Pure. */
import type {
  Authentication,
  CompiledProvider,
  OperationName,
  ProviderOperation,
  ProviderQuota,
  ProviderRequest,
} from '../compiled-provider.ts';
import { periodName } from './judged.ts';
import { STEPS } from '../../steps/registry.ts';

interface OperationSummary {
  readonly name: OperationName;
  readonly keys: readonly string[];
  /** `GET /people/{email}`; null where lookups go by batch alone. */
  readonly request: string | null;
  /** Lookups in one request at most; null without batches. */
  readonly batch: number | null;
  /** Seconds between two questions for a promised answer; null where none is promised. */
  readonly pollSeconds: number | null;
  readonly creditsAtMost: number;
  /** Windows by plan, where the operation has its own. */
  readonly plans: Readonly<Record<string, readonly string[]>> | null;
}

export interface Summary {
  readonly name: string;
  readonly title: string | null;
  readonly file: string;
  /** Null: each job names it. */
  readonly baseUrl: string | null;
  /** The variable of the API key, and how it is sent; null where none is sent. */
  readonly apiKey: { readonly variable: string; readonly sent: string } | null;
  /** `100/minute`, by plan; an empty list for a plan without a limit. */
  readonly plans: Readonly<Record<string, readonly string[]>>;
  readonly defaultPlan: string | null;
  readonly operations: readonly OperationSummary[];
  /** Each thing that a reader may miss, as a sentence. */
  readonly lacks: readonly string[];
}

/** @param variable the name of the API key's variable */
export function summaryOf(provider: CompiledProvider, variable: string): Summary {
  const { name, title, file, baseUrl, authentication, quota, defaultPlan } = provider;
  return {
    name,
    title,
    file,
    baseUrl,
    apiKey: authentication === null ? null : { variable, sent: sentAs(authentication) },
    plans: plansOf(quota),
    defaultPlan,
    operations: Object.values(provider.operations).map(operationSummary),
    lacks: lacksOf(provider),
  };
}

function operationSummary({ name, keys, request, batch, poll, creditsAtMost, quota }: ProviderOperation): OperationSummary {
  return {
    name,
    keys,
    request: request === null ? null : callOf(request),
    batch: batch?.size ?? null,
    pollSeconds: poll === null ? null : poll.everyMs / 1_000,
    creditsAtMost,
    plans: quota === null ? null : plansOf(quota),
  };
}

function callOf({ method, path, baseUrl }: ProviderRequest): string {
  return `${method} ${baseUrl ?? ''}${path.map((part) => (typeof part === 'string' ? part : `{${part.text}}`)).join('')}`;
}

function sentAs(authentication: Authentication): string {
  switch (authentication.kind) {
    case 'bearer':
      return 'Authorization: Bearer ***';
    case 'header':
      return `${authentication.name}: ${authentication.prefix}***`;
    case 'query':
      return `the parameter ${authentication.name}`;
    case 'body':
      return `the field ${authentication.name} of the body`;
    case 'basic':
      return `basic authentication, as the ${authentication.user === null ? 'user name' : 'password'}`;
    default:
      return authentication satisfies never;
  }
}

function plansOf({ plans }: ProviderQuota): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(plans).map(([plan, windows]) => [plan, windows.map(({ limit, periodMs }) => `${limit}/${periodName(periodMs)}`)]),
  );
}

function lacksOf(provider: CompiledProvider): string[] {
  const { operations, quota, baseUrl, authentication, idempotencyHeader } = provider;
  const declared = Object.values(operations);
  const absent = STEPS.filter((name) => operations[name] === undefined);
  const without = (rule: 'wait' | 'denied' | 'outOfCredits'): string[] =>
    declared.filter(({ answers }) => answers[rule] === null).map(({ name }) => name);
  const outOfCredits = without('outOfCredits');
  const hasPlans = [quota, ...declared.map((operation) => operation.quota)].some(
    (one) => one !== null && Object.keys(one.plans).length > 0,
  );
  const uncounted = declared.filter(({ credits, creditsAtMost }) => credits === null && creditsAtMost > 0).map(({ name }) => name);
  return [
    ...(absent.length === 0 ? [] : [`It does not answer ${absent.join(', ')}.`]),
    ...(baseUrl === null ? ['It has no baseUrl: each job names the address.'] : []),
    ...(authentication === null ? ['It has no authentication: requests carry no API key.'] : []),
    ...(hasPlans ? [] : ['It states no plans: requests are paced by the headers alone, or by the windows that a job states.']),
    ...(outOfCredits.length === 0
      ? []
      : [`answers.outOfCredits is missing for ${outOfCredits.join(', ')}: 402 alone means that the credits are used up.`]),
    ...(uncounted.length === 0
      ? []
      : [`credits is missing for ${uncounted.join(', ')}: X-Credits-Charged alone tells what an answer has cost.`]),
    ...(idempotencyHeader === null ? ['It has no idempotency key: requests in flight at a crash are asked and paid again.'] : []),
  ];
}
