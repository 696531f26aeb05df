/** The upper bound for a run: an undici Pool called in a loop, without files. Arguments: url, calls. Prints calls a second. */
import { Pool } from 'undici';

const [url = '', calls = '0'] = process.argv.slice(2);
const pool = new Pool(url, { connections: 64, pipelining: 1 });
const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };
let next = 0;
const started = performance.now();
await Promise.all(
  Array.from({ length: 64 }, async () => {
    while (next < Number(calls)) {
      const i = next++;
      const { body } = await pool.request({
        method: 'POST',
        path: '/v1/enrich',
        headers,
        body: JSON.stringify({ email: `person${i}@works${i % 500}.example` }),
      });
      await body.json();
    }
  }),
);
process.stdout.write(`${JSON.stringify({ perSecond: Number(calls) / ((performance.now() - started) / 1_000) })}\n`);
await pool.close();
