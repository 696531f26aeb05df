/** Texts in S3 that several runs may want to write. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { ALONE } from '../support/fence.ts';

const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };

await describeWith('s3', 'a text in S3', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  const newRun = (): S3Storage => new S3Storage({ client: clientOf(server, proxy.url), patience: QUICK });
  let path = '';

  afterAll(() => proxy.stop());
  beforeEach(() => {
    path = `s3://${bucket.name}/${randomUUID()}/checkpoint.json`;
    proxy.faultFor = () => null;
  });

  test('is not written by a run that looked at its lock before another one took over', async () => {
    const [paused, heir] = [newRun(), newRun()];
    await paused.replaceText(path, 'one', ALONE);
    await heir.shutOutOfText(path, ALONE);
    expect(await heir.readText(path, 100)).toBe('one\n');
    await expect(paused.replaceText(path, 'two', ALONE)).rejects.toThrow('something else has written it meanwhile');
    // Not even when what stands there is read again as it was.
    await heir.replaceText(path, 'three', ALONE);
    await heir.shutOutOfText(path, ALONE);
    expect(await heir.readText(path, 100)).toBe('three\n');
    await newRun().shutOutOfText(`${path}.none`, ALONE);
    expect(await heir.exists(`${path}.none`)).toBe(false);
  });

  test('a first one is not written over one that another run has written since', async () => {
    const paused = newRun();
    let looks = 0;
    const write = paused.replaceText(path, 'ours', { ...ALONE, check: async () => { if (looks++ === 0) await newRun().replaceText(path, 'theirs', ALONE); } });
    await expect(write).rejects.toThrow('something else has written it meanwhile');
    expect(await newRun().readText(path, 100)).toBe('theirs');
  });

  test('whose answers are lost is written all the same, and once', async () => {
    const run = newRun();
    let puts = 0;
    proxy.faultFor = ({ method }) => (method === 'PUT' && ++puts % 2 === 1 ? { kind: 'lost' } : null);
    for (const text of ['one', 'two', 'three']) {
      await run.replaceText(path, text, ALONE);
      expect(await run.readText(path, 100)).toBe(text);
    }
  });

  test('is refused when it is longer than it may be', async () => {
    const run = newRun();
    await run.replaceText(path, 'x'.repeat(1_000), ALONE);
    await expect(run.readText(path, 999)).rejects.toMatchObject({ message: expect.stringContaining('longer than 999 bytes') });
  });
});
