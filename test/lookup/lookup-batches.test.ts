import { describe, expect, it, vi } from 'vitest';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import { GAVE_UP, ITEMS, items, makeBench, MISS, person, REFUSED, type Bench } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };

interface Bed {
  readonly bench: Bench;
  readonly step: OpenStep;
  /** The outcomes of each record, in words. */
  readonly told: Record<string, string[]>;
  readonly ask: (...names: string[]) => void;
}

function make(options: Parameters<typeof makeBench>[0] = { batch: 3 }): Bed {
  const bench = makeBench(options);
  const step = recordStep(bench.context, 'enrich', SCOPES);
  const told: Record<string, string[]> = {};
  const ask = (name: string): void => {
    step.ask({ by: 'email', key: `${name}@example.com` }, (outcome) => (told[name] ??= []).push(inWords(outcome)));
  };
  return { bench, step, told, ask: (...names) => names.forEach(ask) };
}

function inWords(outcome: LookupOutcome<{ readonly name?: unknown }>): string {
  if (outcome.kind === 'hit') return String(outcome.answer.record.name);
  return outcome.kind === 'failed' ? outcome.code : outcome.kind;
}

/** The names in a request, such as `a b c`; a request for one lookup has no brackets. */
const namesIn = ({ body }: { readonly body: string }): string => {
  const names = [...body.matchAll(/"(\w+)@example/g)].map(([, name]) => name).join(' ');
  return body.startsWith('[') ? `[${names}]` : names;
};
const keptIn = (bench: Bench): string[] =>
  bench.kept.map((entries) =>
    entries.map(({ key, answer, again }) => `${key.split('@')[0]} ${answer.kind}${again === true ? ' again' : ''}`).join(', '),
  );

describe('a provider that takes several lookups in one request', () => {
  it('gets full requests, and a smaller one when the lookups are flushed', () => {
    const { bench, step, ask } = make();
    ask('a', 'b');
    expect([bench.asked.length, step.lookupsWaiting, step.callsPending]).toEqual([0, 2, 0]);
    ask('c', 'd', 'e');
    expect([bench.asked.map(namesIn), step.lookupsWaiting, step.callsPending]).toEqual([['[a b c]'], 2, 1]);
    step.flush();
    expect([bench.asked.map(namesIn), step.lookupsWaiting, step.callsPending]).toEqual([['[a b c]', '[d e]'], 0, 2]);
    expect(bench.asked.map(({ divisible }) => divisible)).toEqual([true, true]);
    expect(bench.asked.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      `key of ${JSON.stringify(['a', 'b', 'c'].map((name) => JSON.stringify({ email: `${name}@example.com` })))}`,
      `key of ${JSON.stringify(['d', 'e'].map((name) => JSON.stringify({ email: `${name}@example.com` })))}`,
    ]);
  });

  it('gets a lookup that stays alone as a request of its own, where it has such a request', () => {
    const { bench, step, ask } = make();
    ask('a');
    step.flush();
    expect(bench.asked.map(namesIn)).toEqual(['a']);
    const only = make({ batch: 3, onlyBatches: true });
    only.ask('a');
    only.step.flush();
    expect(only.bench.asked.map(namesIn)).toEqual(['[a]']);
  });

  it('settles each lookup by itself, and the answers of one request go into the ledger together', () => {
    const { bench, ask, told } = make({ batch: 4 });
    ask('a', 'b', 'b', 'c', 'd');
    bench.next().settle(items([ITEMS.person({ name: 'Ada' }), ITEMS.miss, ITEMS.refused, ITEMS.person({ name: 'Dan' })]));
    expect(told).toEqual({ a: ['Ada'], b: ['miss', 'miss'], c: ['bad_key'], d: ['Dan'] });
    expect(keptIn(bench)).toEqual(['a hit, b miss, c failed, d hit']);
    expect(bench.progress).toBe(1);
  });

  it('asks for what an answer leaves out, or fails by itself, once more and alone', () => {
    const { bench, step, ask, told } = make();
    ask('a', 'b', 'c');
    bench.next().settle(items([null, ITEMS.person({ name: 'Bob' }), ITEMS.broken]));
    expect(bench.asked.map(namesIn)).toEqual(['a', 'c']);
    expect(keptIn(bench)).toEqual(['b hit, a asking, c asking']);
    bench.next().settle(MISS);
    bench.next().settle(GAVE_UP);
    expect(told).toEqual({ a: ['miss'], b: ['Bob'], c: ['http_500'] });
    expect(keptIn(bench).slice(1)).toEqual(['a miss again', 'c failed again']);
    expect(step.callsPending).toBe(0);
  });

  it('asks in a request for one where it has no other, under another key, and then fails with no_result', () => {
    const { bench, step, ask, told } = make({ batch: 3, onlyBatches: true });
    ask('a');
    step.flush();
    const first = bench.next();
    first.settle({ kind: 'ok', value: null, attempts: 1, requestId: null });
    const second = bench.next();
    expect(namesIn(second)).toBe('[a]');
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
    second.settle({ kind: 'ok', value: null, attempts: 1, requestId: null });
    expect([told, bench.asked]).toEqual([{ a: ['no_result'] }, []]);
  });

  it.each([
    ['is refused', REFUSED, 'validation_failed'],
    ['fails', GAVE_UP, 'http_500'],
  ])('halves a request that %s until the bad lookup stands alone', (_, bad, code) => {
    const { bench, ask, told } = make({ batch: 4 });
    ask('a', 'b', 'c', 'd');
    const sent: string[] = [];
    while (bench.asked.length > 0) {
      const call = bench.next();
      const names = namesIn(call);
      sent.push(names);
      if (names.includes('c')) call.settle(bad);
      else
        call.settle(
          names.startsWith('[') ? items([...names.matchAll(/\w/g)].map(([name]) => ITEMS.person({ name }))) : person({ name: names }),
        );
    }
    expect(sent).toEqual(['[a b c d]', '[a b]', '[c d]', 'c', 'd']);
    expect(told).toEqual({ a: ['a'], b: ['b'], c: [code], d: ['d'] });
  });

  it('halves a request that the limits of the job have no room for, and says nothing against the provider', () => {
    const { bench, ask } = make({ batch: 4, trusted: false });
    ask('a', 'b', 'c', 'd');
    expect(bench.next().isTooDear()).toBe(true);
    expect(bench.asked.map(namesIn)).toEqual(['[a b]', '[c d]']);
    expect(bench.asked.map((call) => call.isTooDear())).toEqual([true, true]);
    expect(bench.asked.slice(2).map((call) => [namesIn(call), call.isTooDear()])).toEqual([
      ['a', false],
      ['b', false],
      ['c', false],
      ['d', false],
    ]);
  });

  it('leaves misses of an untrusted provider in quarantine, until one of the same request is a match', () => {
    const { bench, ask, told } = make({ batch: 2, trusted: false });
    ask('a', 'b');
    bench.next().settle(items([ITEMS.miss, ITEMS.miss]));
    expect([told, bench.kept]).toEqual([{}, []]);
    ask('c', 'd');
    bench.next().settle(items([ITEMS.miss, ITEMS.person({ name: 'Dan' })]));
    expect(told).toEqual({ a: ['miss'], b: ['miss'], c: ['miss'], d: ['Dan'] });
    expect(keptIn(bench)).toEqual(['a miss, b miss, c miss, d hit']);
  });
});

describe('a lookup that is answered later', () => {
  it('goes out with its ticket, which the ledger keeps', () => {
    const { bench, step, ask, told } = make({});
    ask('a');
    bench.next().promise('t1');
    expect(keptIn(bench)).toEqual(['a asking']);
    expect(bench.asked[0]).toMatchObject({ ticket: 't1', idempotencyKey: 'key of {"email":"a@example.com"}' });
    expect(step.callsPending).toBe(1);
    bench.next().promise('t1');
    bench.next().promise('t2');
    bench.next().settle(person({ name: 'Ada' }));
    expect(keptIn(bench)).toEqual(['a asking', 'a asking again', 'a hit again']);
    expect(told).toEqual({ a: ['Ada'] });
  });

  it('goes out with the same ticket in the next run, and counts as no new lookup', () => {
    const first = make({});
    first.ask('a');
    first.bench.next().promise('t1');
    const { bench, ask, told } = make({});
    for (const [key, answer] of first.bench.ledger) bench.ledger.set(key, answer);
    ask('a', 'a');
    expect(bench.asked).toHaveLength(1);
    const call = bench.next();
    expect(call.ticket).toBe('t1');
    call.settle(MISS);
    expect(told).toEqual({ a: ['miss', 'miss'] });
    expect(keptIn(bench)).toEqual(['a miss again']);
  });

  it('names the other lookups of its request in the ledger, so that a resume does not ask for them with others', () => {
    const { bench, ask } = make({ batch: 2 });
    ask('a', 'b');
    bench.next().settle(GAVE_UP);
    bench.next().promise('t1');
    expect(keptIn(bench)).toEqual(['a asking, b asking', 'a asking again']);
  });
});

describe('a provider whose kept answers are read again each time', () => {
  const stored = { record: { name: 'Ada' }, text: '{"name":"Ada"}', stored: 'raw' };

  it('keeps its own answer in the ledger', () => {
    const { bench, ask, told } = make({});
    ask('a');
    bench.next().settle({ kind: 'ok', value: stored, attempts: 1, requestId: null });
    expect(told).toEqual({ a: ['Ada'] });
    expect(bench.kept.flat().map(({ answer }) => answer)).toEqual([{ kind: 'hit', text: 'raw' }]);
  });

  it('keeps an answer that the definition cannot map, although the record fails', () => {
    const { bench, ask, told } = make({ trusted: false });
    ask('a');
    bench.next().settle({ kind: 'failed', rejected: true, status: 200, code: 'bad_shape', attempts: 1, requestId: null, stored: 'raw' });
    expect(told).toEqual({ a: ['bad_shape'] });
    expect(bench.kept.flat().map(({ answer }) => answer)).toEqual([{ kind: 'hit', text: 'raw' }]);
  });

  it('reads it for all records that wait for it, and counts it as pending meanwhile', async () => {
    const read: string[] = [];
    const { bench, step, ask, told } = make({
      readStored: async (name, text) => {
        read.push(`${name} ${text}`);
        return { record: { name: 'read' }, text: '{"name":"read"}' };
      },
    });
    bench.ledger.set('1 a@example.com', { kind: 'hit', text: 'raw' });
    bench.ledger.set('1 b@example.com', { kind: 'miss' });
    ask('a', 'a', 'b');
    expect([told, step.callsPending]).toEqual([{ b: ['miss'] }, 1]);
    await expect.poll(() => told['a']).toEqual(['read', 'read']);
    expect([read, step.callsPending, bench.progress, bench.asked]).toEqual([['enrich raw'], 0, 1, []]);
  });

  it('fails a lookup whose kept answer cannot be read, and stores nothing', async () => {
    const { bench, ask, told } = make({ readStored: () => Promise.reject(new Error('record.email is no text')) });
    bench.ledger.set('1 a@example.com', { kind: 'hit', text: 'raw' });
    ask('a');
    await expect.poll(() => told['a']).toEqual(['bad_mapping']);
    expect(bench.kept).toEqual([]);
  });

  it('delivers nothing that is read after the run has stopped', async () => {
    const reading = Promise.withResolvers<{ record: unknown; text: string }>();
    const { bench, step, ask, told } = make({ readStored: () => reading.promise });
    bench.ledger.set('1 a@example.com', { kind: 'hit', text: 'raw' });
    ask('a');
    step.stop();
    reading.resolve({ record: { name: 'late' }, text: '' });
    await expect.poll(() => step.callsPending).toBe(0);
    expect(told).toEqual({});
  });
});

describe('a provider that is given up', () => {
  it('settles each lookup without an answer once, now and later, and stores nothing', () => {
    const { bench, step, ask, told } = make({ batch: 2 });
    bench.ledger.set('1 known@example.com', { kind: 'miss' });
    ask('a', 'b', 'c', 'a');
    expect(bench.asked.map(namesIn)).toEqual(['[a b]']);
    step.giveUp('no_credits');
    expect(told).toEqual({ a: ['no_credits', 'no_credits'], b: ['no_credits'], c: ['no_credits'] });
    ask('d', 'a', 'known');
    step.flush();
    expect(told).toMatchObject({ a: ['no_credits', 'no_credits', 'no_credits'], d: ['no_credits'], known: ['miss'] });
    expect([bench.kept, step.callsPending, step.lookupsWaiting, bench.progress, bench.asked.length]).toEqual([[], 0, 0, 1, 1]);
  });

  it('still keeps an answer that comes too late for its records', () => {
    const { bench, step, ask, told } = make({ batch: 2 });
    ask('a', 'b');
    step.giveUp('down');
    bench.next().settle(items([ITEMS.person({ name: 'Ada' }), null]));
    expect([told, keptIn(bench), bench.asked, step.callsPending]).toEqual([{ a: ['down'], b: ['down'] }, ['a hit'], [], 0]);
  });

  it('still gives the answers that are being read', async () => {
    const { step, bench, ask, told } = make({ readStored: async () => ({ record: { name: 'read' }, text: '' }) });
    bench.ledger.set('1 a@example.com', { kind: 'hit', text: 'raw' });
    ask('a');
    step.giveUp('down');
    ask('a', 'b');
    await expect.poll(() => told['a']).toEqual(['read', 'read']);
    expect(told['b']).toEqual(['down']);
  });

  it('marks such an outcome', () => {
    const { bench, step } = make({});
    const got: LookupOutcome<unknown>[] = [];
    step.ask({ by: 'email', key: 'a@example.com' }, (outcome) => got.push(outcome));
    step.giveUp('no_credits');
    expect(got).toEqual([{ kind: 'failed', code: 'no_credits', attempts: 0, requestId: null, unavailable: true }]);
    expect(bench.kept).toEqual([]);
  });

  it('leaves to the quarantine what it holds, unless the provider is rejected', () => {
    const { bench, step, ask, told } = make({ trusted: false });
    ask('a');
    bench.next().settle(MISS);
    step.giveUp('down');
    expect(told).toEqual({});
    bench.context.quarantine.release();
    expect(told).toEqual({ a: ['miss'] });
    const rejected = make({ trusted: false });
    rejected.ask('a');
    rejected.bench.next().settle(MISS);
    rejected.bench.context.quarantine.rejectService();
    rejected.step.giveUp('down');
    expect([rejected.told, rejected.bench.kept]).toEqual([{ a: ['down'] }, []]);
  });

  it('does not wait for what other runs ask, and ignores their answers afterwards', () => {
    const { bench, step, ask, told } = make({});
    const claims: ((answer: null) => void)[] = [];
    Object.assign(bench.context.ledger, { ask: (_scope: number, _key: string, told: (answer: null) => void) => claims.push(told) });
    ask('a');
    expect(step.callsPending).toBe(1);
    step.giveUp('down');
    expect([told, step.callsPending]).toEqual([{ a: ['down'] }, 1]);
    const released = vi.spyOn(bench.context.ledger, 'release');
    for (const claim of claims) claim(null);
    expect([told, step.callsPending, bench.asked, bench.progress]).toEqual([{ a: ['down'] }, 0, [], 2]);
    expect(released.mock.calls.map(([, keys]) => keys)).toEqual([['a@example.com']]);
  });
});
