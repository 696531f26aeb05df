/** A verify service without a result for one address in four, until `POST /heal`. Prints its address. */
import { createServer } from 'node:http';

let forgets = true;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/heal') {
      forgets = false;
      response.end('{}');
      return;
    }
    const { emails } = JSON.parse(Buffer.concat(chunks).toString()) as { emails: string[] };
    const known = emails.filter((email) => !forgets || sum(email) % 4 !== 0);
    response.writeHead(200, { 'content-type': 'application/json', 'x-credits-charged': String(known.length) });
    response.end(JSON.stringify({ data: known.map((email) => ({ email, result: 'deliverable', confidence: 97, reason: 'accepted' })) }));
  });
});

function sum(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash >>> 3;
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })}\n`);
});
