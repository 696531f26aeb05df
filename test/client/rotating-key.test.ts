import { describe, expect, it } from 'vitest';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { ConfigError } from '../../src/errors.ts';

/** A key whose file holds one after the other of these, the last for ever. An Error: it cannot be read then. */
function keyWith(first: string, looks: readonly (string | Error)[]): { key: RotatingKey; reads: () => number; waits: number[] } {
  let reads = 0;
  const waits: number[] = [];
  const readAgain = async (): Promise<string> => {
    const seen = looks[Math.min(reads, looks.length - 1)] ?? first;
    reads++;
    if (seen instanceof Error) throw seen;
    return seen;
  };
  return { key: new RotatingKey(first, { readAgain, wait: async (ms) => waits.push(ms) }), reads: () => reads, waits };
}

const EMPTY = new ConfigError('api_key_file', 'MILLRACE_API_KEY_FILE: /run/key is empty');

describe('a key that is read again', () => {
  it('is the new one as soon as it is seen twice', async () => {
    const { key, waits } = keyWith('old', ['new']);
    expect(await key.renew(1)).toEqual({ isNew: true, found: '' });
    expect([key.value, key.version, waits]).toEqual(['new', 2, [50]]);
  });

  it('is waited for while its file is empty, gone or half written', async () => {
    const { key } = keyWith('old', ['old', EMPTY, new Error('ENOENT'), 'ne', 'new-key', 'new-key']);
    expect(await key.renew(1)).toMatchObject({ isNew: true });
    expect(key.value).toBe('new-key');
  });

  it.each([
    ['it holds no other key', ['old']],
    ['MILLRACE_API_KEY_FILE: /run/key is empty', [EMPTY]],
  ])('stays what it was when no other one comes: %s', async (found, looks) => {
    const { key, waits } = keyWith('old', looks);
    expect(await key.renew(1)).toEqual({ isNew: false, found });
    expect([key.value, key.version]).toEqual(['old', 1]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(2_000);
  });

  it('is read once for all calls that were refused at that time', async () => {
    const { key, reads } = keyWith('old', ['new']);
    const renewals = Array.from({ length: 64 }, () => key.renew(1));
    expect(key.reading).not.toBeNull();
    expect(new Set((await Promise.all(renewals)).map((renewal) => renewal?.isNew))).toEqual(new Set([true]));
    expect([reads(), key.reading]).toEqual([2, null]);
  });

  it('is not condemned by a call that carried the key before it', async () => {
    const { key, reads } = keyWith('old', ['new']);
    await key.renew(1);
    expect(await key.renew(1)).toEqual({ isNew: true, found: '' });
    expect([reads(), key.version]).toEqual([2, 2]);
  });

  it('may change a second time, and back to one that was in use before', async () => {
    const { key } = keyWith('first', ['second', 'second', 'third', 'third', 'first', 'first']);
    await key.renew(1);
    expect(await key.renew(2)).toMatchObject({ isNew: true });
    key.accepted(3);
    expect(await key.renew(3)).toMatchObject({ isNew: true });
    expect([key.value, key.version]).toEqual(['first', 4]);
  });

  it('is not tried again when it was refused and none was accepted since', async () => {
    const { key } = keyWith('first', ['second', 'second', 'first']);
    await key.renew(1);
    expect(await key.renew(2)).toEqual({ isNew: false, found: 'it holds no other key' });
  });

  it('of the environment cannot be read again', async () => {
    expect(await new RotatingKey('key').renew(1)).toBeNull();
  });

  it('is told to its listeners before a call carries it', async () => {
    const { key } = keyWith('old', ['new']);
    const told: [string, string | null][] = [];
    key.listen((one) => told.push([one, key.value]));
    await key.renew(1);
    expect(told).toEqual([['old', 'old'], ['new', 'old']]);
  });
});
