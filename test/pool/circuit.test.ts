import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Circuit, isFromService, OPEN_AFTER, probeAgainMs } from '../../src/pool/circuit.ts';

const lookups = Array.from({ length: 40 }, (_, id) => ({ id }));

describe('Circuit', () => {
  it('opens when ten different lookups have failed with no answer between them, never before', () => {
    const step = fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...lookups, null) }, { weight: 1, arbitrary: fc.constant('answer' as const) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const circuit = new Circuit();
        let failing = new Set<object>();
        let open = false;
        for (const [now, one] of steps.entries()) {
          if (one === 'answer') {
            expect(circuit.answered()).toBe(open);
            open = false;
            failing = new Set();
          } else {
            if (!open && one !== null) failing.add(one);
            const opens = !open && failing.size === OPEN_AFTER;
            expect(circuit.failed(one, now)).toBe(opens);
            if (opens) open = true;
          }
          expect(circuit.open).toBe(open);
        }
      }),
    );
  });

  it('probes after half a second, then more and more seldom, every 15 s at last', () => {
    const circuit = new Circuit();
    expect(circuit.waitMs(0)).toBe(0);
    for (const lookup of lookups.slice(0, OPEN_AFTER)) circuit.failed(lookup, 1_000);
    const waits: number[] = [];
    let now = 1_000;
    for (let probe = 0; probe < 8; probe++) {
      const wait = circuit.waitMs(now);
      waits.push(wait);
      now += wait;
      expect(circuit.waitMs(now)).toBe(0);
      circuit.failed(null, now);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(circuit.outageMs(now)).toBe(now - 1_000);
    circuit.answered();
    expect([circuit.outageMs(now), circuit.waitMs(now)]).toEqual([0, 0]);
  });

  it('does not take what was in flight when it opened for probes', () => {
    const circuit = new Circuit();
    for (const lookup of lookups.slice(0, OPEN_AFTER)) circuit.failed(lookup, 0);
    for (const lookup of lookups) circuit.failed(lookup, 499);
    expect(circuit.waitMs(499)).toBe(1);
  });

  it('probes a service that answers as soon as it is told, and begins anew when nothing answers', () => {
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

describe('probeAgainMs', () => {
  it('is a second while there are lookups that were not asked yet', () => expect(probeAgainMs(0, 600_000)).toBe(1_000));

  it('lets what is left over use up its attempts in half of the longest outage, within bounds', () => {
    expect([1, 4, 12, 100, 600, 5_000].map((left) => probeAgainMs(left, 600_000))).toEqual([15_000, 15_000, 5_000, 600, 100, 100]);
    expect(probeAgainMs(12, 60_000)).toBe(500);
  });
});

describe('isFromService', () => {
  it.each([
    ['http_500', 500, true], ['http_501', 501, true], ['http_599', 599, true], ['http_408', 408, true], ['idempotency_in_flight', 409, true], ['bad_body', 200, true],
    ['http_502', 502, false], ['http_503', 503, false], ['http_504', 504, false], ['http_520', 520, false], ['http_530', 530, false],
    ['network', 0, false], ['timeout', 0, false], ['network', 200, false], ['timeout', 200, false],
  ] as const)('%s with status %d: %s', (code, status, expected) => {
    const meta = { status, headers: {}, requestId: null, credits: 0, latencyMs: 1 };
    expect(isFromService({ kind: 'retryable', code, detail: '', retryAfterMs: null, meta })).toBe(expected);
  });
});
