import { describe, expect, it } from 'vitest';
import { cleanUp, cleanUpNow } from './clean-up.ts';

describe('cleaning up', () => {
  const done: string[] = [];

  it('happens at the end of the test', () => {
    cleanUp(() => void done.push('first'));
    cleanUp(() => void done.push('last'));
    expect(done).toEqual([]);
  });

  it('happens before the next test, in reverse order', () => {
    expect(done).toEqual(['last', 'first']);
  });

  it('continues after an error, and throws the first one', async () => {
    const order: number[] = [];
    cleanUp(() => void order.push(1));
    cleanUp(() => Promise.reject(new Error('second')));
    cleanUp(() => {
      order.push(3);
      throw new Error('third');
    });
    await expect(cleanUpNow()).rejects.toThrow('third');
    expect(order).toEqual([3, 1]);
    await expect(cleanUpNow()).resolves.toBeUndefined();
  });
});
