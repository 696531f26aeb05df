/**
 * Fastify with one route that finds a person by address and their company in a store, and answers with both texts. Every service over such
 * a store needs these two reads; keys, quota, credits, validation, suppression and log are left out.
 * `node bench/support/fastify-over-store.ts STORE`. Prints its address.
 */
import { DatabaseSync } from 'node:sqlite';
import { fastify } from 'fastify';

const store = new DatabaseSync(process.argv[2] ?? '', { readOnly: true });
// The same cache as the service's.
store.exec('PRAGMA cache_size = -16384');
const person = store.prepare('SELECT doc, company_domain FROM people WHERE email = ?');
const company = store.prepare('SELECT doc FROM companies WHERE domain = ?');
person.setReturnArrays(true);
company.setReturnArrays(true);

const app = fastify({ logger: false });
app.post('/v1/enrich', (request, reply) => {
  const { email } = request.body as { email: string };
  const [text, domain] = person.get(email) as unknown as [string, string | null];
  const [employer] = (domain === null ? undefined : (company.get(domain) as unknown as [string] | undefined)) ?? ['null'];
  return reply.header('content-type', 'application/json; charset=utf-8').send(`${text.slice(0, -1)},"company":${employer}}`);
});
process.stdout.write(`${JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) })}\n`);
