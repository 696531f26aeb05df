/** Reads request bodies: JSON as a value together with its bytes, other media types as a stream. */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from './problem.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent: an Idempotency-Key holds for these bytes. Null for a stream, or without a body. */
    rawBody: Buffer | null;
  }
}

/** @param streamed media types of bodies that some routes read as a stream */
export function readBodies(app: FastifyInstance, streamed: readonly string[]): void {
  app.decorateRequest('rawBody', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.rawBody = body;
    if (request.routeOptions.config.raw !== undefined) {
      done(null, body);
      return;
    }
    // Many clients declare JSON on requests without a body. Routes that need one refuse it below.
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
      done(null, JSON.parse(body.toString('utf8')));
    } catch (error) {
      done(new ServiceError('invalid_json', `the body is no JSON: ${syntaxErrorAt(error)}`), undefined);
    }
  });
  app.addContentTypeParser([...streamed], (request, payload, done) => {
    if (request.routeOptions.config.raw === undefined) done(unsupportedType(request), undefined);
    else done(null, payload);
  });
  // A request without a body has no content type and never reaches a parser.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.routeOptions.config.hasBody === true && request.body === undefined)
      done(new ServiceError('invalid_json', 'the body is empty; send a JSON object'));
    else done();
  });
}

export function unsupportedType({ routeOptions }: FastifyRequest): ServiceError {
  return new ServiceError('unsupported_media_type', `send Content-Type: ${(routeOptions.config.raw ?? ['application/json']).join(' or ')}`);
}

/** The position of a JSON error, without the text around it: that may be personal data. */
function syntaxErrorAt(error: unknown): string {
  const position = /at position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
  return position ?? ((error as Error).message === 'not UTF-8' ? 'it is not UTF-8' : 'it ends too early or has a stray character');
}
