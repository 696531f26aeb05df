import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DISTRUST_AFTER, TrustGate, type Doubtful, type Trust } from '../../src/processor/trust-gate.ts';

function gate({ trusted, held }: Trust = { trusted: false }): { gate: TrustGate; distrusted: string[] } {
  const distrusted: string[] = [];
  return {
    gate: new TrustGate({
      trusted,
      held,
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
    const { gate: it, distrusted } = gate({ trusted: true });
    let delivered = 0;
    for (let i = 0; i < 3 * DISTRUST_AFTER; i++) it.judge('404 miss', () => delivered++);
    expect(delivered).toBe(3 * DISTRUST_AFTER);
    expect(distrusted).toEqual([]);
  });

  it('goes on where the gate of the run before stood, wherever that ended', () => {
    const kinds = fc.constantFrom('404 miss', '404 miss', '404 miss', '451 suppressed', 'vouch');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 2 * DISTRUST_AFTER, size: 'max' }), fc.nat(DISTRUST_AFTER - 1), (answers, cut) => {
        const delivered: number[] = [];
        const said = (it: TrustGate, kind: string, i: number, doubtful: Doubtful = { step: 'enrich', key: String(i), said: kind, refused: false, answer: { kind: 'miss' } }): void => {
          if (kind === 'vouch') it.vouch();
          else it.judge(kind, () => delivered.push(i), doubtful);
        };
        const first = gate();
        answers.slice(0, cut).forEach((kind, i) => said(first.gate, kind, i));
        const second = gate(JSON.parse(JSON.stringify(first.gate.trust)) as Trust);
        for (const i of answers.slice(0, cut).keys()) {
          const doubtful = second.gate.recall('enrich', String(i));
          if (doubtful !== null) said(second.gate, doubtful.said, i, doubtful);
          expect(second.gate.recall('enrich', String(i))).toBeNull();
        }
        answers.slice(cut).forEach((kind, i) => said(second.gate, kind, cut + i));
        const known = [...delivered];

        delivered.length = 0;
        const whole = gate();
        answers.forEach((kind, i) => said(whole.gate, kind, i));
        expect([known, second.distrusted, second.gate.trust]).toEqual([delivered, whole.distrusted, whole.gate.trust]);
      }),
    );
  });

  it('leaves nothing of a service that is not believed, so that it is asked again; and what nobody has recalled to the run after', () => {
    const { gate: it } = gate();
    for (let i = 0; i < DISTRUST_AFTER; i++) it.judge('404 miss', () => undefined, { step: 'enrich', key: String(i), said: '404 miss', refused: false, answer: { kind: 'miss' } });
    // Until then somebody else may know it.
    expect(it.trust.held).toHaveLength(DISTRUST_AFTER);
    it.disbelieve();
    expect(it.trust).toEqual({ trusted: false, held: [] });
    const left: Trust = { trusted: true, held: [{ step: 'reveal', key: 'a', said: '404 miss', refused: false, answer: { kind: 'miss' } }] };
    expect(gate(left).gate.trust).toEqual(left);
  });

  it('takes refusals from a service that the ledger knows, those of before as well, and still doubts it for misses', () => {
    const { gate: it, distrusted } = gate();
    let delivered = 0;
    const refuse = (times: number): void => {
      for (let i = 0; i < times; i++) it.refuse('422 validation_failed', () => delivered++);
    };
    refuse(DISTRUST_AFTER - 1);
    expect(delivered).toBe(0);
    it.recognise();
    expect(delivered).toBe(DISTRUST_AFTER - 1);
    refuse(DISTRUST_AFTER);
    expect([delivered, distrusted, it.trusted]).toEqual([2 * DISTRUST_AFTER - 1, [], false]);
    const { gate: other, distrusted: missed } = gate();
    other.recognise();
    for (let i = 0; i < DISTRUST_AFTER; i++) other.judge('404 miss', () => delivered++);
    other.recognise();
    expect([delivered, missed]).toEqual([2 * DISTRUST_AFTER - 1, [`${DISTRUST_AFTER} 404 miss`]]);
  });

  it('believes a service that has answered in two ways, whether the ledger knows it or not, and whatever was told first', () => {
    const kinds = fc.constantFrom('404 miss', '422 validation_failed', '400 bad_request', 'known');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: DISTRUST_AFTER - 1 }), (answers) => {
        const { gate: it, distrusted } = gate();
        let delivered = 0;
        for (const kind of answers) {
          if (kind === 'known') it.recognise();
          else if (kind === '404 miss') it.judge(kind, () => delivered++);
          else it.refuse(kind, () => delivered++);
        }
        const said = answers.filter((kind) => kind !== 'known');
        expect([it.trusted, distrusted]).toEqual([new Set(said).size > 1, []]);
        if (it.trusted) expect(delivered).toBe(said.length);
      }),
    );
  });

  it('doubts a service that it does not know for refusals as for misses', () => {
    const { gate: it, distrusted } = gate();
    for (let i = 0; i < DISTRUST_AFTER; i++) it.refuse('422 validation_failed', i % 3 === 0 ? null : () => undefined);
    expect(distrusted).toEqual([`${DISTRUST_AFTER} 422 validation_failed`]);
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
