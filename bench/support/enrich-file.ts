/**
 * A script with the same work beside the quota: fast-csv in, fetch, a 429 repeated after its Retry-After, fast-csv out. Arguments: url,
 * input, output, requests a minute.
 */
import { format, parseFile } from 'fast-csv';
import { createWriteStream } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';

type Row = Record<string, string>;

const [url = '', input = '', output = '', requestsAMinute = ''] = process.argv.slice(2);
export const rpm = Number(requestsAMinute);
/** Concurrent calls. */
export const CONCURRENCY = 64;

async function enrich(row: Row): Promise<Row> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };
  for (;;) {
    const response = await fetch(`${url}/v1/enrich`, { method: 'POST', headers, body: JSON.stringify({ email: row['Work Email'] }) });
    if (response.ok) {
      const person = (await response.json()) as { name: string; title: string };
      return { ...row, name: person.name, title: person.title };
    }
    await response.body?.cancel();
    if (response.status !== 429) throw new Error(`the service answered ${response.status}`);
    await after(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  }
}

/**
 * @param schedule makes the call when the limiter allows it. Twice as many rows as calls are in memory, so the limiter never waits for the
 * file.
 */
export async function enrichFile(schedule: (call: () => Promise<Row>) => Promise<Row>): Promise<void> {
  const rows = parseFile<Row, Row>(input, { headers: true })[Symbol.asyncIterator]() as AsyncIterator<Row, undefined>;
  const out = format<Row, Row>({ headers: true });
  out.pipe(createWriteStream(output));
  await Promise.all(
    Array.from({ length: 2 * CONCURRENCY }, async () => {
      for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
        const row = next.value;
        out.write(await schedule(() => enrich(row)));
      }
    }),
  );
  out.end();
}
