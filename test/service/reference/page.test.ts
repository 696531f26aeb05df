import { hash } from 'node:crypto';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeEach, describe, expect, it } from 'vitest';
import { ERRORS } from '../../../src/service/http/problem.ts';
import { HEADERS } from '../../../src/service/openapi/headers.ts';
import { publishedExamples } from '../../../src/service/reference/code-samples.ts';
import { referenceDocument } from '../../../src/service/reference/reference-document.ts';
import { expectClosed } from '../../support/html.ts';
import { DOCUMENT } from '../answers.ts';
import { serveStore, type Served } from '../harness.ts';

let service: Served;
beforeEach(async () => {
  service = await serveStore();
});

/** A part of the page: it is no operation of the document. */
async function part(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(service.url + path, { headers });
}

describe('GET /docs', () => {
  it('answers a page whose policy lets only its own scripts run, and lets nothing leave the origin', async () => {
    const page = await service.request('/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expectClosed(page.text);
    const [, script = ''] = /<script>([^<]*)<\/script>/.exec(page.text) ?? [];
    expect(script).toContain('createApiReference');
    expect(page.text.match(/<script\b/g)).toHaveLength(2);
    expect(page.headers.get('content-security-policy')?.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      'font-src data:',
      "form-action 'none'",
      "frame-ancestors 'none'",
      'img-src data:',
      `script-src 'self' 'sha256-${hash('sha256', script, 'base64')}'`,
      "style-src 'unsafe-inline'",
    ]);
    expect([...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target]) => target)).toEqual([
      'data:,',
      '/openapi.json',
      '/docs/openapi.json',
      '/docs/scalar.js',
    ]);
  });

  it('leads to the description of the service where scripts do not run', async () => {
    const [, without = ''] = /<noscript>([^]*)<\/noscript>/.exec((await service.request('/docs')).text) ?? [];
    for (const [, path = ''] of without.matchAll(/href="([^"]*)"/g)) expect((await part(path)).status, path).toBe(200);
    expect(without).toContain('docs/service.md');
  });
});

describe('the parts of the reference page', () => {
  it('the script is compressed for clients that take gzip, and plain for others', async () => {
    const packed = await part('/docs/scalar.js');
    const text = await packed.text();
    expect([packed.headers.get('content-type'), packed.headers.get('content-encoding'), packed.headers.get('vary')]).toEqual([
      'text/javascript; charset=utf-8',
      'gzip',
      'accept-encoding',
    ]);
    expect(Number(packed.headers.get('content-length'))).toBeLessThan(text.length / 3);
    for (const refused of ['identity', 'gzip;q=0, br', 'gzip; q=0.000'])
      expect((await part('/docs/scalar.js', { 'accept-encoding': refused })).headers.get('content-encoding'), refused).toBeNull();
    for (const taken of ['deflate, gzip;q=0.5', '*', 'GZIP'])
      expect((await part('/docs/scalar.js', { 'accept-encoding': taken })).headers.get('content-encoding'), taken).toBe('gzip');
    expect(await (await part('/docs/scalar.js', { 'accept-encoding': 'identity' })).text()).toBe(text);
    expect(text).toContain('createApiReference');
    expect(text).not.toContain('sourceMappingURL');
  });

  it('a client that has the script already is told so by its ETag', async () => {
    const etag = (await part('/docs/scalar.js')).headers.get('etag') ?? '';
    const again = await part('/docs/scalar.js', { 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await part('/docs/scalar.js', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('answers HEAD, and refuses other methods and unknown parameters as every path does', async () => {
    const head = await fetch(`${service.url}/docs/scalar.js`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(`${service.url}/docs/openapi.json`, {
      method: 'POST',
      headers: { authorization: 'Bearer embedded-test-key' },
    });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await part('/docs/openapi.json?x=1')).status).toBe(400);
  });
});

describe('the document of the reference page', () => {
  it('the document of the page is valid OpenAPI 3.1 with the components of /openapi.json', async () => {
    const answer = await part('/docs/openapi.json');
    const document = (await answer.json()) as Record<string, unknown>;
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(document).toEqual(JSON.parse(JSON.stringify(referenceDocument(DOCUMENT, publishedExamples()))));
    expect(document['components']).toEqual(JSON.parse(JSON.stringify(DOCUMENT.components)));
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('the description explains every header and every error code', () => {
    const description = String(referenceDocument(DOCUMENT, publishedExamples()).info['description']);
    for (const [code, { status, title }] of Object.entries(ERRORS))
      expect(description).toContain(`\n### ${title}\n\n\`${code}\`, status ${status}. `);
    for (const name of Object.keys(HEADERS)) expect(description).toContain(`| \`${name}\` |`);
  });
});
