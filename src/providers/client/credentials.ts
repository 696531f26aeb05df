/** How the API key travels with a request, and every form in which an answer may echo it. */
import type { Redactor } from '../../client/redactor.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import type { Authentication } from '../compiled-provider.ts';

interface Carried {
  /** Name in lower case, and value; null when no header carries the key. */
  readonly header: readonly [name: string, value: string] | null;
  /** `name=value`, percent-encoded; null when the query does not carry the key. */
  readonly query: string | null;
  /** Name and value of a field of the body; null when no body carries the key. Where one does, the query does not. */
  readonly field: readonly [name: string, value: string] | null;
  /** The forms of the key on the wire. */
  readonly secrets: readonly string[];
}

const NOTHING: Carried = { header: null, query: null, field: null, secrets: [] };

export class Credentials {
  readonly #apiKey: RotatingKey;
  #carried: Carried = NOTHING;

  /** @param redactor learns each key, in every form, before a call carries it */
  constructor(authentication: Authentication | null, apiKey: RotatingKey, redactor: Redactor) {
    this.#apiKey = apiKey;
    apiKey.listen((key) => {
      const carried = carry(authentication, key);
      for (const secret of [key, ...carried.secrets]) redactor.add(secret);
      this.#carried = carried;
    });
  }

  /** Counts the keys, see `RotatingKey.version`. */
  get version(): number {
    return this.#apiKey.version;
  }

  get carried(): Carried {
    return this.#carried;
  }
}

function carry(authentication: Authentication | null, key: string): Carried {
  switch (authentication?.kind) {
    case undefined:
      return NOTHING;
    case 'bearer':
      return { ...NOTHING, header: ['authorization', `Bearer ${key}`] };
    case 'header':
      return { ...NOTHING, header: [authentication.name.toLowerCase(), authentication.prefix + key] };
    case 'query': {
      const encoded = encodeURIComponent(key);
      return { ...NOTHING, query: `${encodeURIComponent(authentication.name)}=${encoded}`, secrets: bothCases(encoded) };
    }
    case 'body': {
      const { name, query } = authentication;
      const inQuery = query === null ? NOTHING : carry({ kind: 'query', name: query }, key);
      const ofForm = new URLSearchParams({ '': key }).toString().slice(1);
      const ofJson = JSON.stringify(key).slice(1, -1);
      return { ...inQuery, field: [name, key], secrets: [...inQuery.secrets, ...bothCases(ofForm), ofJson] };
    }
    case 'basic': {
      const token = Buffer.from(
        `${authentication.user ?? key}:${authentication.password ?? (authentication.user === null ? '' : key)}`,
      ).toString('base64');
      const bare = token.replace(/=+$/, '');
      return { ...NOTHING, header: ['authorization', `Basic ${token}`], secrets: [token, bare] };
    }
    default:
      return authentication satisfies never;
  }
}

/** RFC 3986, 2.1: both cases of a percent-encoding mean the same. */
function bothCases(encoded: string): readonly string[] {
  return [encoded, encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())];
}
