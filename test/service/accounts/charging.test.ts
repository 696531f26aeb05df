import { describe, expect, it, vi } from 'vitest';
import { Charge, type Books } from '../../../src/service/accounts/charging.ts';
import { KeyRing } from '../../../src/service/accounts/key-ring.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { createKey } from '../../../src/service/accounts/keys.ts';
import { DurableQuota } from '../../../src/service/accounts/durable-quota.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

/** A trial of 60 requests a minute and 1,000 calls, with 5 credits. */
async function opened(): Promise<{ charge: () => Charge; books: Books; left: () => object }> {
  const store = openStore(await makeStore());
  const clock = (): number => 0;
  const journal = new Journal(store, () => undefined, clock);
  cleanUp(() => {
    journal.close();
    store.close();
  });
  const writes = new KeyWrites(store, journal);
  const keys = new KeyRing(store, writes, clock);
  const books = { keys, quota: new DurableQuota(store, writes, clock, Date.now), journal, clock };
  const made = createKey(store, { plan: 'trial', credits: 5 });
  const key = keys.resolve(`Bearer ${made.key}`);
  if (key === null) throw new Error('no such key');
  const charge = (): Charge => {
    const one = new Charge(books);
    one.identify(key);
    return one;
  };
  return { charge, books, left: () => keys.left(key) };
}

describe('the charge of a request', () => {
  it('begins open, and becomes booked with its calls and credits', async () => {
    const { charge, left } = await opened();
    const one = charge();
    expect(one.state).toBe('open');
    one.bookCalls();
    one.bookCredits(2);
    expect([one.state, one.credits, left()]).toEqual(['booked', 2, { credits: 3, calls: 999 }]);
  });

  it('becomes committed once the journal has written it', async () => {
    const { charge, books } = await opened();
    const one = charge();
    one.bookCalls();
    const committed = one.commit();
    expect(one.state).toBe('booked');
    expect(await committed).toBeNull();
    expect([one.state, books.keys.hasUnwritten(one.keyId)]).toEqual(['committed', false]);
  });

  it('becomes committed at once when there is nothing to write', async () => {
    const one = new Charge((await opened()).books);
    expect([one.commit(), one.state]).toEqual([null, 'committed']);
  });

  it('returns calls and credits and undoes its writes when the request is refused with an unsettled status', async () => {
    const { charge, left } = await opened();
    const undo = vi.fn<() => void>();
    const one = charge();
    one.bookCalls(3);
    one.bookCredits(1);
    one.commitWith(undo);
    one.refuse(500);
    one.refuse(500);
    expect([one.state, one.credits, left()]).toEqual(['refunded', 0, { credits: 5, calls: 1_000 }]);
    expect(undo).toHaveBeenCalledTimes(1);
  });

  it('keeps its calls when a refusal settles the request', async () => {
    const { charge, left } = await opened();
    const one = charge();
    one.bookCalls();
    one.refuse(404);
    expect([one.state, left()]).toEqual(['booked', { credits: 5, calls: 999 }]);
  });

  it.each([
    [429, 60],
    [503, 60],
    [500, 50],
  ])('ended by a %i leaves %i requests in a quota of 60 from which it took 10', async (status, remaining) => {
    const { charge } = await opened();
    const one = charge();
    one.takeToken();
    one.bookBulk(10, 'items', '/requests');
    one.refuse(status);
    expect(one.quota?.remaining).toBe(remaining);
  });

  it('refuses to book more than the balance holds, and books nothing then', async () => {
    const { charge, left } = await opened();
    const one = charge();
    expect(() => one.bookCredits(6)).toThrow('no calls or credits left');
    expect(() => one.bookCalls(1_001)).toThrow('no calls or credits left');
    expect([one.state, left()]).toEqual(['open', { credits: 5, calls: 1_000 }]);
  });

  it('becomes a refusal when the store writes nothing in time', async () => {
    const { charge, books } = await opened();
    vi.spyOn(books.journal, 'written').mockResolvedValue(false);
    const one = charge();
    one.bookCalls();
    expect(await one.commit()).toMatchObject({ code: 'overloaded' });
    expect(one.state).toBe('booked');
  });

  it('becomes a refusal when the journal wrote all but the charge', async () => {
    const { charge, books } = await opened();
    vi.spyOn(books.journal, 'written').mockResolvedValue(true);
    const one = charge();
    one.bookCalls();
    expect(await one.commit()).toMatchObject({ code: 'internal_error' });
    expect(one.state).toBe('booked');
  });

  it.each(['paid', 'free'] as const)('becomes a refusal when damage lost the stored answer of a %s request', async (price) => {
    const { charge } = await opened();
    const one = charge();
    if (price === 'paid') one.bookCalls();
    one.stores({ isPending: () => true, isLost: () => true });
    expect(await one.commit()).toMatchObject({ code: 'internal_error' });
    expect(one.state).not.toBe('committed');
  });

  it('waits a moment for a free answer that an Idempotency-Key stores, and commits it in any case', async () => {
    const { charge, books } = await opened();
    const written = vi.spyOn(books.journal, 'written').mockResolvedValue(false);
    const one = charge();
    one.stores({ isPending: () => true, isLost: () => false });
    expect(await one.commit()).toBeNull();
    expect(one.state).toBe('committed');
    expect(written).toHaveBeenCalledTimes(1);
  });

  it('stays refunded when the refusal is committed', async () => {
    const { charge } = await opened();
    const one = charge();
    one.bookCredits(1);
    one.refuse(503);
    await one.commit();
    expect(one.state).toBe('refunded');
  });

  it('waits for the rows that the request has made even when it costs nothing', async () => {
    const { charge, books } = await opened();
    const written = vi.spyOn(books.journal, 'written').mockResolvedValue(true);
    const one = charge();
    one.commitWith(() => undefined);
    expect(await one.commit()).toBeNull();
    expect(written).toHaveBeenCalledTimes(1);
  });
});
