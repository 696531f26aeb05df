import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { DISTRUST_AFTER, MissQuarantine, type QuarantinedAnswer, type QuarantineState } from '../../src/lookup/miss-quarantine.ts';

function gate({ trusted, held }: QuarantineState = { trusted: false }): { gate: MissQuarantine; distrusted: string[] } {
  const distrusted: string[] = [];
  return {
    gate: new MissQuarantine({
      trusted,
      held,
      onDistrust: (answers, kind) => {
        distrusted.push(`${answers} ${kind}`);
      },
    }),
    distrusted,
  };
}

describe('the miss quarantine', () => {
  it('holds back answers of one 4xx kind until something else is answered, then lets all go, each once and in order', () => {
    const kinds = fc.constantFrom('404 miss', '400 bad', 'confirm');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: DISTRUST_AFTER - 1 }), (answers) => {
        const { gate: quarantine, distrusted } = gate();
        const delivered: number[] = [];
        let trusted = false;
        for (const [i, kind] of answers.entries()) {
          trusted ||= kind === 'confirm' || answers.slice(0, i).some((before) => before !== kind);
          if (kind === 'confirm') quarantine.confirm();
          else quarantine.judge(kind, () => delivered.push(i));
          const judged = [...answers.keys()].filter((at) => at <= i && answers[at] !== 'confirm');
          expect(quarantine.trusted).toBe(trusted);
          expect(delivered).toEqual(trusted ? judged : []);
          expect(quarantine.size).toBe(trusted ? 0 : judged.length);
        }
        quarantine.release();
        expect(delivered).toEqual([...answers.keys()].filter((at) => answers[at] !== 'confirm'));
        expect(distrusted).toEqual([]);
      }),
    );
  });

  it('gives up after a hundred answers of one kind, and keeps holding them back', () => {
    const { gate: quarantine, distrusted } = gate();
    let delivered = 0;
    for (let i = 0; i < DISTRUST_AFTER; i++) {
      expect(distrusted).toEqual([]);
      // An answer that is not the last word (a batch that is halved) counts too.
      quarantine.judge('404 miss', i % 3 === 0 ? null : () => delivered++);
    }
    expect(distrusted).toEqual([`${DISTRUST_AFTER} 404 miss`]);
    expect(delivered).toBe(0);
  });

  it('holds nothing back where misses are trusted from the start', () => {
    const { gate: quarantine, distrusted } = gate({ trusted: true });
    let delivered = 0;
    for (let i = 0; i < 3 * DISTRUST_AFTER; i++) quarantine.judge('404 miss', () => delivered++);
    expect(delivered).toBe(3 * DISTRUST_AFTER);
    expect(distrusted).toEqual([]);
  });

  it('continues from the state of the run before, wherever that run ended', () => {
    const kinds = fc.constantFrom('404 miss', '404 miss', '404 miss', '451 suppressed', 'confirm');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 2 * DISTRUST_AFTER, size: 'max' }), fc.nat(DISTRUST_AFTER - 1), (answers, cut) => {
        const delivered: number[] = [];
        const said = (
          quarantine: MissQuarantine,
          kind: string,
          i: number,
          restored: QuarantinedAnswer = { step: 'enrich', key: String(i), said: kind, refused: false, answer: { kind: 'miss' } },
        ): void => {
          if (kind === 'confirm') quarantine.confirm();
          else quarantine.judge(kind, () => delivered.push(i), restored);
        };
        const first = gate();
        answers.slice(0, cut).forEach((kind, i) => said(first.gate, kind, i));
        const second = gate(JSON.parse(JSON.stringify(first.gate.trust)) as QuarantineState);
        for (const i of answers.slice(0, cut).keys()) {
          const restored = second.gate.takeRestored('enrich', String(i));
          if (restored !== null) said(second.gate, restored.said, i, restored);
          expect(second.gate.takeRestored('enrich', String(i))).toBeNull();
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

  it('keeps no answers of a rejected service, and passes unclaimed answers on to the next run', () => {
    const { gate: quarantine } = gate();
    for (let i = 0; i < DISTRUST_AFTER; i++)
      quarantine.judge('404 miss', () => undefined, {
        step: 'enrich',
        key: String(i),
        said: '404 miss',
        refused: false,
        answer: { kind: 'miss' },
      });
    // Until then the ledger may know the service.
    expect(quarantine.trust.held).toHaveLength(DISTRUST_AFTER);
    quarantine.rejectService();
    expect(quarantine.trust).toEqual({ trusted: false, held: [] });
    const left: QuarantineState = {
      trusted: true,
      held: [{ step: 'reveal', key: 'a', said: '404 miss', refused: false, answer: { kind: 'miss' } }],
    };
    expect(gate(left).gate.trust).toEqual(left);
  });

  it('accepts refusals from a service that the ledger knows, earlier ones too, and still holds back its misses', () => {
    const { gate: quarantine, distrusted } = gate();
    let delivered = 0;
    const refuse = (times: number): void => {
      for (let i = 0; i < times; i++) quarantine.refuse('422 validation_failed', () => delivered++);
    };
    refuse(DISTRUST_AFTER - 1);
    expect(delivered).toBe(0);
    quarantine.confirmByLedger();
    expect(delivered).toBe(DISTRUST_AFTER - 1);
    refuse(DISTRUST_AFTER);
    expect([delivered, distrusted, quarantine.trusted]).toEqual([2 * DISTRUST_AFTER - 1, [], false]);
    const { gate: other, distrusted: missed } = gate();
    other.confirmByLedger();
    for (let i = 0; i < DISTRUST_AFTER; i++) other.judge('404 miss', () => delivered++);
    other.confirmByLedger();
    expect([delivered, missed]).toEqual([2 * DISTRUST_AFTER - 1, [`${DISTRUST_AFTER} 404 miss`]]);
  });

  it('trusts a service that has answered in two ways, whether the ledger knows it or not, and in any order', () => {
    const kinds = fc.constantFrom('404 miss', '422 validation_failed', '400 bad_request', 'known');
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: DISTRUST_AFTER - 1 }), (answers) => {
        const { gate: quarantine, distrusted } = gate();
        let delivered = 0;
        for (const kind of answers) {
          if (kind === 'known') quarantine.confirmByLedger();
          else if (kind === '404 miss') quarantine.judge(kind, () => delivered++);
          else quarantine.refuse(kind, () => delivered++);
        }
        const said = answers.filter((kind) => kind !== 'known');
        expect([quarantine.trusted, distrusted]).toEqual([new Set(said).size > 1, []]);
        if (quarantine.trusted) expect(delivered).toBe(said.length);
      }),
    );
  });

  it('distrusts an unknown service for refusals as for misses', () => {
    const { gate: quarantine, distrusted } = gate();
    for (let i = 0; i < DISTRUST_AFTER; i++) quarantine.refuse('422 validation_failed', i % 3 === 0 ? null : () => undefined);
    expect(distrusted).toEqual([`${DISTRUST_AFTER} 422 validation_failed`]);
  });

  it('releases answers at the end of a short input, and goes on holding later ones', () => {
    const { gate: quarantine } = gate();
    const delivered: string[] = [];
    quarantine.judge('404 miss', () => delivered.push('a'));
    quarantine.release();
    expect(quarantine.trusted).toBe(false);
    quarantine.judge('404 miss', () => delivered.push('b'));
    expect(delivered).toEqual(['a']);
  });
});
