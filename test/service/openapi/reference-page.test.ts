import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../../src/service/http/problem.ts';
import { OPERATIONS } from '../../../src/service/openapi/operations.ts';
import { exampleRequests } from '../../../src/service/openapi/example-requests.ts';
import { referencePage } from '../../../src/service/openapi/page/reference-page.ts';
import { EVENT_TYPES } from '../../../src/service/webhooks/announcement.ts';
import { expectClosed } from '../../support/html.ts';
import { DOCUMENT } from '../answers.ts';
import { serveStore, type Reply } from '../harness.ts';

let page: Reply;
let html: string;
beforeAll(async () => {
  page = await (await serveStore()).request('/docs');
  html = page.text;
});

describe('GET /docs', () => {
  it('answers one page made from the document, without a key', () => {
    expect([page.status, page.headers.get('content-type'), html]).toEqual([200, 'text/html; charset=utf-8', referencePage(DOCUMENT)]);
  });

  it('loads nothing from elsewhere, and its policy lets nothing else load or run', () => {
    // No element that loads, nor an attribute or a style that does.
    expect(html).not.toMatch(/<(?:link|img|iframe|object|embed|base|form|meta http-equiv)\b|\s(?:src|srcset|style|on\w+)=|url\(|@import/i);
    const policy = page.headers.get('content-security-policy') ?? '';
    const [, style = ''] = /<style>([^<]*)<\/style>/.exec(html) ?? [];
    const [, script = ''] = /<script>([^<]*)<\/script>/.exec(html) ?? [];
    expect(html.match(/<(?:style|script)\b/g)).toHaveLength(2);
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
      `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    ]);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, target = '']) => target).filter((target) => !target.startsWith('#'))).toEqual([
      '/openapi.json',
    ]);
  });

  it('closes each element, and links only to places that exist once', () => {
    expectClosed(html);
    const ids = [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of html.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(target);
  });

  it('shows every operation, parameter, error and record, and a command for each example', () => {
    const text = html.replaceAll(/<[^>]*>/g, '');
    for (const { id, path, query = {}, headers = {} } of OPERATIONS) {
      const [section = ''] = new RegExp(`<section id="${id}"[\\s\\S]*?</section>`).exec(html) ?? [];
      for (const shown of [path, ...Object.keys(query), ...Object.keys(headers).filter((name) => name !== 'Accept')])
        expect(section).toContain(`<code>${shown}</code>`);
    }
    for (const [code, { status }] of Object.entries(ERRORS))
      expect(html).toContain(`<code id="error-${code}">${code}</code></td><td>${status}</td>`);
    for (const type of EVENT_TYPES) expect(html).toContain(`<td><code>${type}</code></td>`);
    for (const name of ['Person', 'Company', 'Signal', 'Verification', 'Problem']) expect(html).toContain(`<h3 id="${name}">`);
    expect(text.match(/curl &#39;http:\/\/127\.0\.0\.1:8080|curl 'http:\/\/127\.0\.0\.1:8080/g)).toHaveLength(exampleRequests().length);
  });

  it('fits a phone and paper', () => {
    expect(html).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(html).toContain('@media print');
    // Wide things scroll by themselves, and not the page.
    expect(html.match(/<table>/g)?.length).toBe(html.match(/<div class="wide"><table>/g)?.length);
  });
});
