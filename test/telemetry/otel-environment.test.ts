import { describe, expect, it } from 'vitest';
import { otelSettings } from '../../src/telemetry/otel-environment.ts';

const settings = (env: NodeJS.ProcessEnv) => otelSettings(env, 'millrace');
const ENDPOINT = 'http://collector.example:4318';

describe('the OTEL_* variables', () => {
  it.each([
    ['none is set', {}],
    ['the SDK is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
    ['both exporters are none', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' }],
  ])('ask for nothing when %s', (_, env) => {
    expect(settings(env)).toBeNull();
  });

  it('add the path of each kind to the common address', () => {
    expect(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: `${ENDPOINT}/otlp/` })).toEqual({
      metrics: { url: `${ENDPOINT}/otlp/v1/metrics`, headers: {}, timeoutMs: 10_000 },
      traces: { url: `${ENDPOINT}/otlp/v1/traces`, headers: {}, timeoutMs: 10_000 },
      resource: { 'service.name': 'millrace' },
      everyMs: 60_000,
      parent: null,
      problem: null,
    });
  });

  it('let those of one kind win, with their address as it is', () => {
    const found = settings({
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.example/here',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b,x=1',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x=2',
      OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
      OTEL_RESOURCE_ATTRIBUTES: 'team=data,service.name=other',
      OTEL_SERVICE_NAME: 'nightly',
      TRACEPARENT: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    });
    expect(found).toEqual({
      metrics: { url: 'https://metrics.example/here', headers: { 'api-key': 'a b', x: '2' }, timeoutMs: 3_000 },
      traces: null,
      resource: { 'service.name': 'nightly', team: 'data' },
      everyMs: 5_000,
      parent: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
      problem: null,
    });
  });

  it.each([
    ['0.5', 1],
    ['1500.2', 1_501],
    ['5000000000', 2 ** 31 - 1],
    ['-1', 10_000],
    ['soon', 10_000],
  ])('take a timeout of %s as %d milliseconds, which a timer can wait', (text, timeoutMs) => {
    const found = settings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_EXPORTER_OTLP_TIMEOUT: text });
    expect(found).toMatchObject({ metrics: { timeoutMs }, traces: { timeoutMs } });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /is grpc/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector/passw0rd' }, /^OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL$/],
  ])('send nothing when one cannot be used, and name it (%#)', (env, problem) => {
    expect(settings(env)).toMatchObject({ metrics: null, traces: null, problem: expect.stringMatching(problem) });
  });
});
