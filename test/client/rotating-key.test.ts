import { describe, expect, it } from 'vitest';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { ConfigError } from '../../src/util/errors.ts';

/** A key whose file gives one of `looks` after the other, and then the last one for ever. An Error makes that read fail. */
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
  it('changes as soon as two reads give the same new key', async () => {
    const { key, waits } = keyWith('old', ['new']);
    expect(await key.renew(1)).toEqual({ isNew: true, found: '' });
    expect([key.value, key.version, waits]).toEqual(['new', 2, [50]]);
  });

  it('changes after its file was empty, missing or half written for a while', async () => {
    const { key } = keyWith('old', ['old', EMPTY, new Error('ENOENT'), 'ne', 'new-key', 'new-key']);
    expect(await key.renew(1)).toMatchObject({ isNew: true });
    expect(key.value).toBe('new-key');
  });

  it.each([
    ['it holds no other key', ['old']],
    ['MILLRACE_API_KEY_FILE: /run/key is empty', [EMPTY]],
  ])('stays the same when no other key comes (%s)', async (found, looks) => {
    const { key, waits } = keyWith('old', looks);
    expect(await key.renew(1)).toEqual({ isNew: false, found });
    expect([key.value, key.version]).toEqual(['old', 1]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(2_000);
  });

  it('takes one reading for all calls that were refused at the same time', async () => {
    const { key, reads } = keyWith('old', ['new']);
    const renewals = Array.from({ length: 64 }, () => key.renew(1));
    expect(key.reading).not.toBeNull();
    expect(new Set((await Promise.all(renewals)).map((renewal) => renewal?.isNew))).toEqual(new Set([true]));
    expect([reads(), key.reading]).toEqual([2, null]);
  });

  it('stays valid when a call with the previous key is refused', async () => {
    const { key, reads } = keyWith('old', ['new']);
    await key.renew(1);
    expect(await key.renew(1)).toEqual({ isNew: true, found: '' });
    expect([reads(), key.version]).toEqual([2, 2]);
  });

  it('may change a second time, and back to an earlier key', async () => {
    const { key } = keyWith('first', ['second', 'second', 'third', 'third', 'first', 'first']);
    await key.renew(1);
    expect(await key.renew(2)).toMatchObject({ isNew: true });
    key.accepted(3);
    expect(await key.renew(3)).toMatchObject({ isNew: true });
    expect([key.value, key.version]).toEqual(['first', 4]);
  });

  it('does not return to a refused key while no key was accepted since', async () => {
    const { key } = keyWith('first', ['second', 'second', 'first']);
    await key.renew(1);
    expect(await key.renew(2)).toEqual({ isNew: false, found: 'it holds no other key' });
  });

  it('cannot be read again when it comes from the environment', async () => {
    expect(await new RotatingKey('key').renew(1)).toBeNull();
  });

  it('reaches its listeners before a call carries it', async () => {
    const { key } = keyWith('old', ['new']);
    const heard: [string, string | null][] = [];
    key.listen((newKey) => heard.push([newKey, key.value]));
    await key.renew(1);
    expect(heard).toEqual([
      ['old', 'old'],
      ['new', 'old'],
    ]);
  });
});
