/** The page at `/docs`: Scalar shows the document of the service. Pure. */
import { hash } from 'node:crypto';
import { escape } from '../../util/html.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { formerAnchors } from './former-anchors.ts';
import { startScript } from './start-script.ts';

/** Paths of the parts that the page loads. */
export const REFERENCE_PARTS = { script: '/docs/scalar.js', document: '/docs/openapi.json' } as const;

export interface ReferencePage {
  readonly html: string;
  /** Its Content-Security-Policy. */
  readonly policy: string;
}

/** @param document that `REFERENCE_PARTS.document` serves */
export function referencePage(document: OpenApiDocument): ReferencePage {
  const { title } = document.info as { readonly title: string };
  const start = startScript(REFERENCE_PARTS.document, formerAnchors(document));
  // The empty icon keeps browsers from a request for /favicon.ico.
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escape(title)}</title>
</head>
<body>
<div id="app"></div>
<noscript>
<h1>${escape(title)}</h1>
<p>This page needs JavaScript. Without it:</p>
<ul>
<li><a href="/openapi.json">/openapi.json</a> describes every call, as OpenAPI 3.1.</li>
<li><a href="${REFERENCE_PARTS.document}">${REFERENCE_PARTS.document}</a> also has the examples in curl and in each client library.</li>
<li>docs/service.md of the package millrace explains the service in prose.</li>
</ul>
</noscript>
<script src="${REFERENCE_PARTS.script}"></script>
<script>${start}</script>
</body>
</html>
`;
  return { html, policy: policyOf(start) };
}

/**
 * Scripts are our own two. Nothing is sent to another origin, or loaded from one. Scalar styles by inline attributes, so styles cannot be
 * named by a hash.
 */
function policyOf(start: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', start, 'base64')}'`,
    "style-src 'unsafe-inline'",
    "connect-src 'self'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
