/**
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). Since draft 08 both are lists of named items:
 * `"burst";r=50;t=30` beside `"burst";q=100;w=60`. Draft 07 had `limit=100, remaining=50, reset=30` beside `100;w=60`. Pure.
 */

export interface IetfQuota {
  /** The policy's window; null: it does not say. */
  readonly periodMs: number | null;
  readonly limit: number | null;
  readonly remaining: number;
  /** Seconds until the quota is restored; null: it does not say. */
  readonly resetS: number | null;
}

interface Item { readonly name: string; readonly parameters: Readonly<Record<string, string>> }

/** Longer than any header that a service sends; what is longer is not looked at. */
const LONGEST = 2_048;

/** Every quota of which something is left or nothing, as an answer states it; empty: it states none. */
export function ietfQuotas(rateLimit: string | null, policy: string | null): readonly IetfQuota[] {
  if (rateLimit === null || rateLimit.length > LONGEST) return [];
  const policies = policy === null || policy.length > LONGEST ? [] : itemsOf(policy);
  const old = /(?:^|[,;\s])remaining=(\d{1,15})/.exec(rateLimit);
  if (old !== null) return [ofDraft07(rateLimit, Number(old[1]), policies)];
  return itemsOf(rateLimit).flatMap(({ name, parameters }) => {
    const remaining = whole(parameters['r']);
    if (remaining === null) return [];
    const own = policies.find((other) => other.name === name) ?? (policies.length === 1 ? policies[0] : undefined);
    // A quota of another unit than requests is none of calls.
    const unit = own?.parameters['qu'];
    if (unit !== undefined && unit !== 'requests') return [];
    const windowS = whole(own?.parameters['w']);
    return [{ periodMs: windowS === null ? null : windowS * 1_000, limit: whole(own?.parameters['q']), remaining, resetS: whole(parameters['t']) }];
  });
}

function ofDraft07(rateLimit: string, remaining: number, policies: readonly Item[]): IetfQuota {
  const number = (name: string): number | null => whole(new RegExp(`(?:^|[,;\\s])${name}=(\\d{1,15})`).exec(rateLimit)?.[1]);
  const limit = number('limit');
  const windowS = whole(policies.find(({ name }) => name === String(limit))?.parameters['w']);
  return { periodMs: windowS === null ? null : windowS * 1_000, limit, remaining, resetS: number('reset') };
}

/** `"a b";q=1;w=2, c;q=3`, as far as it is understood. */
function itemsOf(text: string): Item[] {
  return [...text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|([\w.*:/-]+))((?:\s*;\s*[\w.*-]+(?:=(?:"[^"]*"|:[^:]*:|[^,;\s]+))?)*)\s*(?:,|$)/g)].map(([, quoted, token = '', parameters = '']) => ({
    name: quoted ?? token,
    parameters: Object.fromEntries([...parameters.matchAll(/;\s*([\w.*-]+)=(?:"([^"]*)"|([^,;\s]+))/g)].map(([, key = '', string, bare]) => [key, string ?? bare ?? ''])),
  }));
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
