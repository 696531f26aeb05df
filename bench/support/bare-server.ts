/**
 * A data service as fast as Node can be: fixed answers, no quota, its own process. Prints its address. It also answers as a vendor of
 * `vendor.yaml` and `wide-vendor.yaml`, with GET, and then knows one person in `share` (argument; default: everybody).
 */
import { createServer } from 'node:http';

const PERSON = {
  email: '',
  name: 'Ada Example',
  title: 'Engineer',
  company: { name: 'Example Works', employees: 120, revenue: '$12M', stack: ['linux', 'postgres', 'react'] },
  verified: true,
};

const share = Number(process.argv[2] ?? 1);
const KNOWN = JSON.stringify({ person: { ...PERSON, company: PERSON.company.name } });
const UNKNOWN = '{}';
const LINE = JSON.stringify({ line_type: 'mobile', carrier: 'Example Mobile' });

/** A person with a number of their own, which the address decides. Every third works at a small company. */
function wide(url: string): string {
  let hash = 0;
  for (let i = 0; i < url.length; i++) hash = (Math.imul(hash, 31) + url.charCodeAt(i)) >>> 0;
  const mobile = `+4477${String(hash % 100_000_000).padStart(8, '0')}`;
  return JSON.stringify({ person: { ...PERSON, mobile, employees: hash % 3 === 0 ? 20 : 120 } });
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const { url = '' } = request;
    const isKnown = share === 1 || url.startsWith('/lines') || url.charCodeAt(url.indexOf('email=') + 6) % share === 0;
    const text = !isKnown ? UNKNOWN : url.startsWith('/wide') ? wide(url) : url.startsWith('/lines') ? LINE : KNOWN;
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { email?: string; emails?: string[] };
    const answer =
      body.emails === undefined
        ? JSON.stringify({ ...PERSON, email: body.email })
        : JSON.stringify({ data: body.emails.map((email) => ({ email, result: 'deliverable', confidence: 97, reason: 'accepted' })) });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(answer),
      'x-ratelimit-limit': '0',
      'x-ratelimit-remaining': '1000000000',
      'x-ratelimit-reset': '0',
      'x-credits-charged': '1',
    });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })}\n`);
});
