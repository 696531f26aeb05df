/** Texts of the reference, compressed once and served with an ETag. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface Packed {
  readonly type: string;
  readonly gzip: Buffer;
  readonly etag: string;
}

export function pack(type: string, gzip: Buffer): Packed {
  return { type, gzip, etag: `"${hash('sha256', gzip, 'hex').slice(0, 32)}"` };
}

/** Answers as RFC 9110 says: 304 for the ETag that the client has, else the text, compressed where the client takes gzip. */
export async function sendPacked({ headers }: FastifyRequest, reply: FastifyReply, { type, gzip, etag }: Packed): Promise<FastifyReply> {
  // `no-cache`: kept, and asked for again each time, so that an update of the service is seen at once.
  reply.headers({ 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache', vary: 'accept-encoding', etag });
  if (headers['if-none-match']?.includes(etag) === true) return reply.code(304).send();
  if (takesGzip(headers['accept-encoding'])) return reply.header('content-encoding', 'gzip').send(gzip);
  return reply.send(await promisify(gunzip)(gzip));
}

function takesGzip(header: string | string[] | undefined): boolean {
  return /(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i.test(String(header ?? ''));
}
