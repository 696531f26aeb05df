import { describe, expect, test } from 'vitest';
import { compiled, LEAST, refused } from './support.ts';

const KEY = 'sk_live_4f9a8b7c6d5e4f3a2b1c';
const MIXED = '9f8e7d6c5b4a39281706f5e4d3c2b1a0';

describe('an API key in a definition is refused, and no message shows it', () => {
  test.each([
    ['an unknown key that names one', `${LEAST}apiKey: ${KEY}`, 'apiKey', 7],
    ['an unknown key within a section', `${LEAST}authentication: {token: ${KEY}}`, 'authentication.token', 7],
    ['a header', `${LEAST}headers: {X-Account: ${KEY}}`, 'headers.X-Account', 7],
    ['a header that names one', `${LEAST}headers: {X-Api-Key: short-one}`, 'headers.X-Api-Key', 7],
    ['a bearer text', `${LEAST}headers: {X-Auth: "Bearer ${MIXED}"}`, 'headers.X-Auth', 7],
    ['basic authentication', `${LEAST}authentication: {basic: {user: ${MIXED}}}`, 'authentication.basic.user', 7],
    ['a prefix', `${LEAST}authentication: {header: X-Key, prefix: "Token ${MIXED}"}`, 'authentication.prefix', 7],
    ['a parameter', LEAST.replace('path:', `query: {q: "'${MIXED}'"}\n      path:`), 'operations.enrich.request.query.q', 5],
    [
      'a parameter that names one',
      LEAST.replace('path:', `query: {api_key: "'hunter2-hunter'"}\n      path:`),
      'operations.enrich.request.query.api_key',
      5,
    ],
    ['a path', LEAST.replace('/people', `/people/${MIXED}`), 'operations.enrich.request.path', 5],
    [
      'a body',
      LEAST.replace('path:', `method: POST\n      body: {a: [{b: "'${KEY}'"}]}\n      path:`),
      'operations.enrich.request.body.a[0].b',
      6,
    ],
  ])('%s', (_, text, key, line) => {
    const error = refused(text);
    expect(error.message).toBe(`${key} looks like an API key, and a definition holds none (acme.yaml, line ${line})`);
    expect(error).toMatchObject({ code: 'secret_in_definition', exitCode: 78 });
    expect(error.hint).toContain('MILLRACE_NAME_API_KEY, or from a file that MILLRACE_NAME_API_KEY_FILE names');
    for (const secret of [KEY, MIXED, 'hunter2', 'short-one']) expect(`${error.message} ${error.hint}`).not.toContain(secret);
  });
});

test.each([
  'headers: {Accept: "application/vnd.acme.v2+json;q=0.9"}',
  'headers: {X-Api-Version: "2024-10-01"}',
  'documentation: ["https://docs.acme.example/9f8e7d6c5b4a39281706f5e4d3c2b1a0"]',
  'authentication: {query: api_key}',
  'authentication: {query: api_key, body: api_key}',
  'authentication: {header: X-Api-Key, prefix: "Token "}',
  'idempotency: {header: Idempotency-Key}',
  'baseUrl: https://api-2024-eu1.acme.example/v2/people-enrichment-2024',
  'quota: {headers: [{window: day, limit: x-ratelimit-limit-24-hour}]}',
])('an ordinary text is no API key: %s', (line) => {
  expect(compiled(`${LEAST}${line}`).name).toBe('acme');
});
