import { describe, expect, it } from 'vitest';
import { metricsBody, tracesBody } from '../../src/telemetry/otlp.ts';
import { histogram } from '../../src/telemetry/prometheus-text.ts';

const RESOURCE = { 'service.name': 'millrace' };
const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'millrace' } }] };

describe('metrics as OTLP', () => {
  it('keep names, labels and values, and say which are sums', () => {
    const body = metricsBody(
      [
        { name: 'rows_total', type: 'counter', help: 'Rows.', samples: [{ labels: { outcome: 'matched' }, value: 3 }] },
        { name: 'lag', type: 'gauge', help: 'Lag.', samples: [{ value: 0.5 }] },
        { name: 'unknown', type: 'gauge', help: 'Not known.', samples: [] },
      ],
      RESOURCE,
      1_000,
      2_000,
    );
    const times = { startTimeUnixNano: '1000000000', timeUnixNano: '2000000000' };
    const matched = { key: 'outcome', value: { stringValue: 'matched' } };
    expect(JSON.parse(body)).toEqual({
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [
            {
              scope: { name: 'millrace' },
              metrics: [
                {
                  name: 'rows_total',
                  description: 'Rows.',
                  sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ ...times, attributes: [matched], asDouble: 3 }] },
                },
                { name: 'lag', description: 'Lag.', gauge: { dataPoints: [{ ...times, attributes: [], asDouble: 0.5 }] } },
              ],
            },
          ],
        },
      ],
    });
  });

  it('have the buckets of a histogram one by one, with one more than bounds', () => {
    const samples = [...histogram({ step: 'a' }, [0.1, 1], [2, 3, 4], 12.5), ...histogram({ step: 'b' }, [0.1, 1], [0, 0, 1], 2)];
    const body = metricsBody([{ name: 'seconds', type: 'histogram', help: '', samples }], RESOURCE, 0, 0);
    const { resourceMetrics } = JSON.parse(body) as { resourceMetrics: { scopeMetrics: { metrics: { histogram: object }[] }[] }[] };
    expect(resourceMetrics[0]?.scopeMetrics[0]?.metrics[0]?.histogram).toMatchObject({
      dataPoints: [
        { count: '9', sum: 12.5, bucketCounts: ['2', '3', '4'], explicitBounds: [0.1, 1] },
        { count: '1', sum: 2, bucketCounts: ['0', '0', '1'], explicitBounds: [0.1, 1] },
      ],
    });
  });
});

it('a span as OTLP has its times, its parent and its error', () => {
  const span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: 'run',
    startMs: 1,
    endMs: 2.4,
    attributes: { records: 7, part: 0.5, ok: true },
  };
  const body = tracesBody(
    [
      { ...span, parentSpanId: null, error: 'down' },
      { ...span, parentSpanId: 'c'.repeat(16), error: null },
    ],
    RESOURCE,
  );
  const { traceId, spanId, name } = span;
  const common = {
    traceId,
    spanId,
    name,
    kind: 1,
    startTimeUnixNano: '1000000',
    endTimeUnixNano: '2000000',
    attributes: [
      { key: 'records', value: { intValue: '7' } },
      { key: 'part', value: { doubleValue: 0.5 } },
      { key: 'ok', value: { boolValue: true } },
    ],
  };
  expect(JSON.parse(body)).toEqual({
    resourceSpans: [
      {
        resource,
        scopeSpans: [
          {
            scope: { name: 'millrace' },
            spans: [
              { ...common, status: { code: 2, message: 'down' } },
              { ...common, parentSpanId: 'c'.repeat(16), status: { code: 1 } },
            ],
          },
        ],
      },
    ],
  });
});
