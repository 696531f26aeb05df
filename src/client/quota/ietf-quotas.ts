/**
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). Since draft 08 both are lists of named items:
 * `"burst";r=50;t=30` beside `"burst";q=100;w=60`. Draft 07 had `limit=100, remaining=50, reset=30` beside `100;w=60`. Pure.
 */

interface IetfQuota {
  /** The policy's window; null when it names none. */
  readonly periodMs: number | null;
  readonly limit: number | null;
  readonly remaining: number;
  /** Seconds until the quota is restored; null when not stated. */
  readonly resetS: number | null;
}

interface Item {
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Longer than any header that a service sends; what is longer is not looked at. */
export const LONGEST = 2_048;

/** Every quota that an answer states with its remaining permits; empty without any. */
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
    return [
      {
        periodMs: windowS === null ? null : windowS * 1_000,
        limit: whole(own?.parameters['q']),
        remaining,
        resetS: whole(parameters['t']),
      },
    ];
  });
}

function ofDraft07(rateLimit: string, remaining: number, policies: readonly Item[]): IetfQuota {
  const number = (name: string): number | null => whole(new RegExp(`(?:^|[,;\\s])${name}=(\\d{1,15})`).exec(rateLimit)?.[1]);
  const limit = number('limit');
  const windowS = whole(policies.find(({ name }) => name === String(limit))?.parameters['w']);
  return { periodMs: windowS === null ? null : windowS * 1_000, limit, remaining, resetS: number('reset') };
}

/** `"a b";q=1;w=2, c;q=3`, as far as it is understood. Each character is read once: the text is a stranger's. */
function itemsOf(text: string): Item[] {
  return partsOf(text, ',').flatMap((member) => {
    const [first = '', ...rest] = partsOf(member, ';');
    const name = /^[\w.*:/-]+$/.test(first) ? first : quotedIn(first);
    const parameters = rest.map(parameterOf);
    if (name === null || parameters.includes(null)) return [];
    return [{ name, parameters: Object.fromEntries(parameters.flatMap((parameter) => (parameter === null ? [] : [parameter]))) }];
  });
}

/** Reads `w=60`, `qu="requests"` or a key alone; null when the text is no parameter. */
function parameterOf(text: string): readonly [key: string, value: string] | null {
  const at = text.includes('=') ? text.indexOf('=') : text.length;
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  const understood = at === text.length ? '' : /^[^\s"]+$/.test(value) ? value : quotedIn(value);
  return understood === null || !/^[\w.*-]+$/.test(key) ? null : [key, understood];
}

/** The text between two quotes, as it is written; null for a text without quotes. */
function quotedIn(text: string): string | null {
  return /^"((?:[^"\\]|\\.)*)"$/.exec(text)?.[1] ?? null;
}

/** The text between separators that are not within quotes, without the white space around it. */
function partsOf(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return [...parts, text.slice(from).trim()];
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
