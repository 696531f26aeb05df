import { describe, expect, it } from 'vitest';
import { makeClient, serveCanned } from './servers.ts';

const HTML = { 'content-type': 'text/html' };
const problem = (code: string): string => JSON.stringify({ type: 'about:blank', title: 'T', code, detail: 'Because.' });

describe('classification of an answer of company and reveal', () => {
  const ECHO =
    '{"id":"1","domain":"acme.example","linkedin_url":"https://profiles.example/a","updated_at":"2026-01-01","accepts_all":false}';

  it.each([
    ['a record', 200, '{"name":"Acme","mobile":null}', 'ok', 'ok'],
    ['a company alone', 200, '{"employees":0}', 'ok', 'miss'],
    ['an address alone', 200, '{"email":"a@acme.example"}', 'miss', 'ok'],
    ['a number alone', 200, '{"mobile":"+12125550100"}', 'miss', 'ok'],
    ['a person with a company', 200, '{"company":{"name":"Acme"}}', 'miss', 'ok'],
    ['null', 200, 'null', 'miss', 'miss'],
    ['{}', 200, '{}', 'miss', 'miss'],
    ['no more than the request stated', 200, ECHO.replace('"linkedin_url":"https://profiles.example/a",', ''), 'miss', 'miss'],
    ['404', 404, problem('no_match'), 'miss', 'miss'],
    ['404 of a path that does not exist', 404, '<html>', 'wrong_address', 'wrong_address'],
    ['451', 451, problem('suppressed_person'), 'suppressed', 'suppressed'],
    ['422', 422, problem('validation_failed'), 'rejected', 'rejected'],
    ['a list', 200, '[]', 'retryable', 'retryable'],
  ])('%s', async (_, status, body, company, reveal) => {
    const client = makeClient(await serveCanned({ status, body, ...(body.startsWith('<') ? { headers: HTML } : {}) }));
    expect((await client.callCompany('acme.example')).kind).toBe(company);
    expect((await client.callReveal(client.revealBody({ linkedin_url: 'https://profiles.example/a' }))).kind).toBe(reveal);
  });
});
