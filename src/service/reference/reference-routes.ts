/** Routes of the reference: the page, and the two parts that it loads. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { RouteHandlerMethod } from 'fastify';
import { JSON_TYPE } from '../calls/api-route.ts';
import { publishedDocument } from '../openapi/published.ts';
import { publishedExamples } from './code-samples.ts';
import { pack, sendPacked, type Packed } from './packed.ts';
import { REFERENCE_PARTS, referencePage } from './page.ts';
import { referenceDocument } from './reference-document.ts';

/** Written by `npm run build`; as far from `src/service/reference` as from `dist/service/reference`. */
const SCRIPT = new URL('../../../dist/reference/scalar.js.gz', import.meta.url);

export function referenceRoute(): RouteHandlerMethod {
  const page = once(() => referencePage(publishedDocument()));
  return (_request, reply) => {
    const { html, policy } = page();
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .send(html);
  };
}

/** The parts by path. No operations of the document, because no client needs them. */
export function referenceParts(): Readonly<Record<string, RouteHandlerMethod>> {
  return {
    [REFERENCE_PARTS.script]: packedRoute(() => pack('text/javascript; charset=utf-8', readFileSync(SCRIPT))),
    [REFERENCE_PARTS.document]: packedRoute(() =>
      pack(JSON_TYPE, gzipSync(JSON.stringify(referenceDocument(publishedDocument(), publishedExamples())))),
    ),
  };
}

function packedRoute(make: () => Packed): RouteHandlerMethod {
  const packed = once(make);
  return (request, reply) => sendPacked(request, reply, packed());
}

/** Made when it is first asked for: most who serve never do. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
