/**
 * The script that people usually write: fast-csv in, p-queue for concurrency, Bottleneck for the rate, fetch, fast-csv out. Arguments: url,
 * input, output. Prints rows a second.
 */
import Bottleneck from 'bottleneck';
import { format, parseFile } from 'fast-csv';
import { createWriteStream } from 'node:fs';
import PQueue from 'p-queue';

const [url = '', input = '', output = ''] = process.argv.slice(2);
const limiter = new Bottleneck({ maxConcurrent: 64 });
const queue = new PQueue({ concurrency: 64 });
const out = format<Record<string, string>, Record<string, string>>({ headers: true });
out.pipe(createWriteStream(output));
const started = performance.now();
let rows = 0;
const all: Promise<unknown>[] = [];
for await (const row of parseFile<Record<string, string>, Record<string, string>>(input, { headers: true })) {
  const lead = row as Record<string, string>;
  all.push(
    limiter.schedule(() =>
      queue.add(async () => {
        const response = await fetch(`${url}/v1/enrich`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
          body: JSON.stringify({ email: lead['Work Email'] }),
        });
        const person = (await response.json()) as { name: string; title: string };
        out.write({ ...lead, name: person.name, title: person.title });
        rows++;
      }),
    ),
  );
}
await Promise.all(all);
process.stdout.write(`${JSON.stringify({ perSecond: rows / ((performance.now() - started) / 1_000) })}\n`);
out.end();
