import { expect, test } from 'vitest';
import { compiled } from './support.ts';

const TEXT = `name: acme
title: Acme
baseUrl: https://a.example
authentication: {bearer: true}
headers: {X-Version: "1"}
timeoutMs: 1000
quota: {plans: {free: [1/second]}}
operations:
  enrich:
    keys: [email, phone]
    request: {path: "/p/{email}", query: {p: phone, l: 1}, headers: {X-A: "'a'"}}
    answers: {miss: status = 404}
    record: {email: body.email}
    credits: "1"
    batch: {size: 10, request: {path: /b, body: lookups, baseUrl: "https://b.example"}, items: body}
  verify:
    answers: {miss: status = 404}
    record: {email: body.email}
    batch: {size: 10, request: {path: /v, body: {list: "lookups.email[]"}}, items: body, itemId: email}
  company:
    request: {path: "/c/{domain}"}
    record: body
`;

/** The operations whose request digest differs after the change. */
function changedBy(from: string, to: string): string[] {
  const before = compiled(TEXT);
  const after = compiled(TEXT.replace(from, to));
  expect(TEXT).toContain(from);
  expect(after.digest).not.toBe(before.digest);
  return Object.keys(before.requestDigests).filter(
    (name) => before.requestDigests[name as 'enrich'] !== after.requestDigests[name as 'enrich'],
  );
}

test.each([
  ['path: "/p/{email}"', 'path: "/p2/{email}"', ['enrich']],
  ['{email}"', '{$uppercase(email)}"', ['enrich']],
  ['l: 1', 'l: 2', ['enrich']],
  ['X-A: "\'a\'"', 'X-A: "\'b\'"', ['enrich']],
  ['[email, phone]', '[phone, email]', ['enrich']],
  ['path: /b,', 'path: /b2,', ['enrich']],
  ['body: lookups,', 'body: lookups, bodyType: form,', ['enrich']],
  ['items: body}\n  verify', 'items: body.list}\n  verify', ['enrich']],
  ['items: body}\n  verify', 'items: body, itemId: id}\n  verify', ['enrich']],
  ['request: {path: /v', 'request: {method: PUT, path: /v', ['verify']],
  ['"/c/{domain}"', '"/d/{domain}"', ['company']],
  ['X-Version: "1"', 'X-Version: "2"', ['enrich', 'verify', 'company']],
])('a change of what is asked changes the digest: %s', (from, to, operations) => {
  expect(changedBy(from, to)).toEqual(operations);
});

test.each([
  ['https://a.example', 'https://c.example'],
  ['https://b.example', 'https://c.example'],
  ['{bearer: true}', '{query: api_key}'],
  ['timeoutMs: 1000', 'timeoutMs: 2000'],
  ['1/second', '2/second'],
  ['title: Acme', 'title: Acme Data'],
  ['{email: body.email}', '{email: body.mail}'],
  ['credits: "1"', 'credits: "2"'],
  ['size: 10', 'size: 20'],
])('a change of how answers are read, or of where and how fast, asks nothing anew: %s', (from, to) => {
  expect(changedBy(from, to)).toEqual([]);
});

test('verdicts are stored mapped, so that their record and rules count too', () => {
  const verify = TEXT.slice(TEXT.indexOf('  verify:'));
  for (const [from, to] of [
    ['{email: body.email}', '{email: body.mail}'],
    ['status = 404', 'status = 410'],
    ['itemId: email', 'itemId: mail'],
    ['items: body', 'items: body.list'],
  ] as const)
    expect(changedBy(verify, verify.replace(from, to))).toEqual(['verify']);
});

test('the order of keys and comments change nothing', () => {
  const other = compiled(
    `# a comment\n${TEXT.replace('{path: "/p/{email}", query: {p: phone, l: 1}', '{query: {l: 1, p: phone}, path: "/p/{email}"')}`,
  );
  expect(other.requestDigests).toEqual(compiled(TEXT).requestDigests);
  expect(other.digest).toBe(compiled(TEXT).digest);
});
