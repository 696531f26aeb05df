/** A run that sends its metrics and its trace to an OpenTelemetry collector. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { cleanUp } from '../support/clean-up.ts';
import { makeWorld } from '../support/world.ts';

const LEADS = `email\n${Array.from({ length: 20 }, (_, i) => `a${i}@works.example\n`).join('')}`;

interface Point {
  readonly asDouble: number;
}
interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: {
    readonly resourceMetrics?: readonly {
      scopeMetrics: readonly { metrics: readonly { name: string; sum?: { dataPoints: Point[] } }[] }[];
    }[];
    readonly resourceSpans?: readonly { scopeSpans: readonly { spans: readonly Record<string, unknown>[] }[] }[];
  };
}

async function collector(status = 200): Promise<{ url: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const piece of request) text += String(piece);
      sent.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(text) as Sent['body'] });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

test('a run sends its last numbers and its trace at its end', async () => {
  const { url, sent } = await collector();
  const { folder, args } = await makeWorld(LEADS);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'x-team=data' };
  expect(await folder.run(args({ steps: 'enrich' }), { env })).toMatchObject({ code: 0, stderr: '' });
  expect(sent.map(({ path }) => path).toSorted()).toEqual(['/v1/metrics', '/v1/traces']);
  expect(sent.every(({ headers }) => headers['x-team'] === 'data')).toBe(true);
  const metrics = sent.flatMap(({ body }) => body.resourceMetrics ?? []).flatMap(({ scopeMetrics }) => scopeMetrics[0]?.metrics ?? []);
  const valueOf = (name: string): number | undefined => metrics.find((metric) => metric.name === name)?.sum?.dataPoints[0]?.asDouble;
  expect([valueOf('millrace_records_total'), valueOf('millrace_credits_total')]).toEqual([20, 20]);
  const spans = sent.flatMap(({ body }) => body.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans[0]?.spans ?? []);
  expect(spans).toMatchObject([{ name: 'millrace run', status: { code: 1 } }]);
});

test('a run keeps its exit code when the collector refuses, and says so once', async () => {
  const { url, sent } = await collector(400);
  const { folder, args } = await makeWorld(LEADS);
  const ended = await folder.run(args({ steps: 'enrich', 'max-calls': '5' }), { env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  expect(ended.code).toBe(77);
  expect(ended.stderr.match(/collector at http:\/\/127\.0\.0\.1:\d+ did not take/g)).toHaveLength(1);
  const spans = sent.flatMap(({ body }) => body.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans[0]?.spans ?? []);
  expect(spans).toMatchObject([{ status: { code: 2, message: expect.stringContaining('limits.maxCalls is reached') } }]);
});
