import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { Circuit, isFromService, OPEN_AFTER, nextProbeMs } from '../../src/pool/circuit.ts';

const lookups = Array.from({ length: 40 }, (_, id) => ({ id }));

describe('Circuit', () => {
  it('opens when ten different lookups have failed without an answer between them, and never earlier', () => {
    const step = fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom(...lookups, null) },
      { weight: 1, arbitrary: fc.constant('answer' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const circuit = new Circuit();
        let failing = new Set<object>();
        let open = false;
        for (const [now, event] of steps.entries()) {
          if (event === 'answer') {
            expect(circuit.answered()).toBe(open);
            open = false;
            failing = new Set();
          } else {
            if (!open && event !== null) failing.add(event);
            const opens = !open && failing.size === OPEN_AFTER;
            expect(circuit.failed(event, now)).toBe(opens);
            if (opens) open = true;
          }
          expect(circuit.open).toBe(open);
        }
      }),
    );
  });

  it('allows a probe after 0.5 s, then at intervals that double up to 15 s', () => {
    const circuit = new Circuit();
    expect(circuit.waitMs(0)).toBe(0);
    for (const lookup of lookups.slice(0, OPEN_AFTER)) circuit.failed(lookup, 1_000);
    const waitsMs: number[] = [];
    let now = 1_000;
    for (let probe = 0; probe < 8; probe++) {
      const waitMs = circuit.waitMs(now);
      waitsMs.push(waitMs);
      now += waitMs;
      expect(circuit.waitMs(now)).toBe(0);
      circuit.failed(null, now);
    }
    expect(waitsMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(circuit.outageMs(now)).toBe(now - 1_000);
    circuit.answered();
    expect([circuit.outageMs(now), circuit.waitMs(now)]).toEqual([0, 0]);
  });

  it('does not count calls that were in flight when it opened as probes', () => {
    const circuit = new Circuit();
    for (const lookup of lookups.slice(0, OPEN_AFTER)) circuit.failed(lookup, 0);
    for (const lookup of lookups) circuit.failed(lookup, 499);
    expect(circuit.waitMs(499)).toBe(1);
  });

  it('uses the given probe interval while the service answers, and doubles its own again when nothing answers', () => {
    const circuit = new Circuit();
    for (const lookup of lookups.slice(0, OPEN_AFTER)) circuit.failed(lookup, 0, { againMs: 70 });
    expect(circuit.waitMs(0)).toBe(500);
    circuit.failed(null, 500, { againMs: 70 });
    expect(circuit.waitMs(500)).toBe(70);
    circuit.failed(null, 570);
    expect(circuit.waitMs(570)).toBe(1_000);
    expect(circuit.outageMs(570)).toBe(570);
  });
});

describe('nextProbeMs', () => {
  it('returns one second while lookups wait that were not sent yet', () => expect(nextProbeMs(0, 600_000)).toBe(1_000));

  it('lets the last lookups use their attempts within half of the longest outage, between 0.1 and 15 s each', () => {
    expect([1, 4, 12, 100, 600, 5_000].map((left) => nextProbeMs(left, 600_000))).toEqual([15_000, 15_000, 5_000, 600, 100, 100]);
    expect(nextProbeMs(12, 60_000)).toBe(500);
  });
});

describe('isFromService', () => {
  it.each([
    ['http_500', 500, true],
    ['http_501', 501, true],
    ['http_599', 599, true],
    ['http_408', 408, true],
    ['idempotency_in_flight', 409, true],
    ['bad_body', 200, true],
    ['http_401', 401, false],
    ['http_403', 403, false],
    ['http_404', 404, false],
    ['http_502', 502, false],
    ['http_503', 503, false],
    ['http_504', 504, false],
    ['http_520', 520, false],
    ['http_530', 530, false],
    ['network', 0, false],
    ['timeout', 0, false],
    ['network', 200, false],
    ['timeout', 200, false],
  ] as const)('for %s with status %d returns %s', (code, status, expected) => {
    const meta = { status, headers: {}, quota: null, requestId: null, credits: 0, latencyMs: 1 };
    expect(isFromService({ kind: 'retryable', code, detail: '', retryAfterMs: null, meta })).toBe(expected);
  });
});
