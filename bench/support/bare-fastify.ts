/**
 * Fastify with one route and a fixed answer: the upper bound for the service. `node bench/support/bare-fastify.ts BYTES`. Prints its
 * address.
 */
import { fastify } from 'fastify';

const answer = Buffer.from(JSON.stringify({ padding: 'x'.repeat(Math.max(0, Number(process.argv[2] ?? 1_000) - 14)) }));
const app = fastify({ logger: false });
app.post('/v1/enrich', (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(answer));
process.stdout.write(`${JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) })}\n`);
