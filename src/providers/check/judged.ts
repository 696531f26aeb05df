/** The result of a call in the words of a check: a kind, the rule that decided, and why. Pure. */
import type { PendingAnswer } from '../../client/provider-client.ts';
import type { CallResult } from '../../client/types.ts';
import type { RuleName } from '../client/call-watch.ts';
import type { ProviderOperation } from '../compiled-provider.ts';
import type { Judged, ShownWindow } from './call-report.ts';
import type { Kind, Lookup } from './answers-file.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { QuotaReading } from '../../client/quota/quota-reading.ts';

export type Result = CallResult<unknown> | PendingAnswer;

/** The decision of the rules about an answer. */
export interface Decision {
  /** Null when no rule is true. */
  readonly rule: RuleName | null;
  /** The key of that rule. */
  readonly key: string | null;
}

const NOT_ASKED: ReadonlySet<string> = new Set(['no_request_value', 'bad_request', 'no_operation']);
const UNFIT: ReadonlySet<string> = new Set(['bad_shape', 'bad_mapping']);

/** @param result null for a lookup that the answer leaves out @param decision null when the rules did not see the answer */
export function judged(
  operation: ProviderOperation,
  lookup: Lookup,
  result: Result | null,
  decision: Decision | null,
  hasRequest: boolean,
): Judged {
  const kind = result === null ? 'leftOut' : kindOf(result, hasRequest);
  return {
    lookup,
    kind,
    rule: decision?.key ?? null,
    why: whyOf(operation, kind, result, decision),
    record: result?.kind === 'ok' ? recordOf(result.value) : null,
    credits: result?.meta.credits ?? 0,
    waitSeconds: waitOf(result),
  };
}

function kindOf(result: Result, hasRequest: boolean): Kind {
  switch (result.kind) {
    case 'ok':
      return 'match';
    case 'miss':
    case 'suppressed':
    case 'pending':
      return result.kind;
    case 'throttled':
      return 'wait';
    case 'denied':
      return result.code === 'out_of_credits' ? 'outOfCredits' : 'denied';
    case 'wrong_address':
      return 'wrongAddress';
    case 'retryable':
      return 'retry';
    case 'rejected':
      if (NOT_ASKED.has(result.code) || !hasRequest) return 'notAsked';
      return UNFIT.has(result.code) ? 'unfit' : 'refused';
    default:
      return result satisfies never;
  }
}

function whyOf(operation: ProviderOperation, kind: Kind, result: Result | null, decision: Decision | null): string {
  const detail = result !== null && 'detail' in result ? result.detail : '';
  if (result === null) {
    const { itemId, items } = operation.batch ?? {};
    const by =
      itemId === null || itemId === undefined ? `${items?.key ?? 'the list'} has no entry for it` : `no entry has its ${itemId.key}`;
    return `the answer leaves this lookup out: ${by}; Millrace sends the ids "0", "1", ...`;
  }
  if (kind === 'unfit' || kind === 'notAsked') return detail;
  const words = detail === '' ? '' : `: ${'code' in result ? `${result.code}, ` : ''}${detail}`;
  if (decision === null) return words === '' ? 'the answer as a whole decides' : words.slice(2);
  if (decision.key !== null) return `${decision.key} is true${words}`;
  if (kind === 'match') return `no rule is true; the status is ${result.meta.status} and the record has a value`;
  const isSuccess = result.meta.status >= 200 && result.meta.status < 300;
  if (kind === 'miss' && isSuccess && result.meta.status !== 204)
    return `no rule is true; the status is ${result.meta.status} and the record has no value`;
  return `no rule is true; the status ${result.meta.status} decides${words}`;
}

function recordOf(value: unknown): Judged['record'] {
  const { record } = value as { readonly record?: Judged['record'] };
  return record ?? (value as Judged['record']);
}

function waitOf(result: Result | null): number | null {
  if (result?.kind === 'pending') return result.afterMs / 1_000;
  if (result?.kind !== 'throttled' && result?.kind !== 'retryable') return null;
  return result.retryAfterMs === null ? null : result.retryAfterMs / 1_000;
}

/** The windows of a reading. */
export function windowsOf(quota: QuotaReading | null): ShownWindow[] {
  if (quota === null) return [];
  const { plan, windows } = quota;
  const reset = plan?.reset ?? null;
  const resetMs = reset === null ? null : reset.form === 'delta' ? reset.value * 1_000 : reset.inMs;
  return [
    ...(plan === null ? [] : [{ window: 'minute', limit: plan.limit, remaining: plan.remaining, resetSeconds: secondsOf(resetMs) }]),
    ...windows.map((window) => ({
      window: periodName(window.periodMs),
      limit: window.limit,
      remaining: window.remaining,
      resetSeconds: secondsOf(window.resetMs),
    })),
  ];
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 1_000));

/** `minute` for 60,000. */
export function periodName(ms: number): string {
  return Object.entries(PERIODS_MS).find(([, periodMs]) => periodMs === ms)?.[0] ?? `${ms / 1_000} s`;
}
