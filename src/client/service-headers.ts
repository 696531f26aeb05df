/** The headers of every call to the specification's service. Pure. */

/** One flat list for all calls, names and values in turn: undici reads it faster than an object. */
interface HeaderLists {
  readonly get: string[];
  readonly post: string[];
}

/** @param apiKey null for no Authorization header */
export function serviceHeaders(apiKey: string | null, userAgent: string): HeaderLists {
  const get = [
    ...(apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
    'accept',
    'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
  ];
  return { get, post: [...get, 'content-type', 'application/json'] };
}
