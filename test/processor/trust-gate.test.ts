import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DISTRUST_AFTER, TrustGate } from '../../src/processor/trust-gate.ts';

function gate(trusted = false): { gate: TrustGate; distrusted: string[] } {
  const distrusted: string[] = [];
  return {
    gate: new TrustGate({
      trusted,
      onDistrust: (answers, kind) => {
        distrusted.push(`${answers} ${kind}`);
      },
    }),
    distrusted,
  };
}

describe('TrustGate', () => {
  it('holds back answers of one 4xx kind until something else is answered, then lets all go, each once and in order', () => {
    const kinds = fc.constantFrom('404 miss', '400 bad', 'vouch');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: DISTRUST_AFTER - 1 }), (answers) => {
        const { gate: it, distrusted } = gate();
        const delivered: number[] = [];
        let trusted = false;
        for (const [i, kind] of answers.entries()) {
          trusted ||= kind === 'vouch' || answers.slice(0, i).some((before) => before !== kind);
          if (kind === 'vouch') it.vouch();
          else it.judge(kind, () => delivered.push(i));
          const judged = [...answers.keys()].filter((at) => at <= i && answers[at] !== 'vouch');
          expect(it.trusted).toBe(trusted);
          expect(delivered).toEqual(trusted ? judged : []);
          expect(it.holding).toBe(trusted ? 0 : judged.length);
        }
        it.releaseHeld();
        expect(delivered).toEqual([...answers.keys()].filter((at) => answers[at] !== 'vouch'));
        expect(distrusted).toEqual([]);
      }),
    );
  });

  it('gives up after a hundred answers of one kind, and keeps holding them back', () => {
    const { gate: it, distrusted } = gate();
    let delivered = 0;
    for (let i = 0; i < DISTRUST_AFTER; i++) {
      expect(distrusted).toEqual([]);
      // An answer that is not the last word (a batch that is halved) counts too.
      it.judge('404 miss', i % 3 === 0 ? null : () => delivered++);
    }
    expect(distrusted).toEqual([`${DISTRUST_AFTER} 404 miss`]);
    expect(delivered).toBe(0);
  });

  it('holds nothing back where misses are trusted from the start', () => {
    const { gate: it, distrusted } = gate(true);
    let delivered = 0;
    for (let i = 0; i < 3 * DISTRUST_AFTER; i++) it.judge('404 miss', () => delivered++);
    expect(delivered).toBe(3 * DISTRUST_AFTER);
    expect(distrusted).toEqual([]);
  });

  it('lets answers stand at the end of a short input, and goes on holding what comes after', () => {
    const { gate: it } = gate();
    const delivered: string[] = [];
    it.judge('404 miss', () => delivered.push('a'));
    it.releaseHeld();
    expect(it.trusted).toBe(false);
    it.judge('404 miss', () => delivered.push('b'));
    expect(delivered).toEqual(['a']);
  });
});
