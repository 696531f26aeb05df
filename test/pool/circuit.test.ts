import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Circuit, OPEN_AFTER } from '../../src/pool/circuit.ts';

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
});
