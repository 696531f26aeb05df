/** Texts in S3 that several runs try to write. */
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
  const newRun = (): S3Storage => new S3Storage({ client: clientOf(server, proxy.url), retryPolicy: QUICK });
  let path = '';

  afterAll(() => proxy.stop());
  beforeEach(() => {
    path = `s3://${bucket.name}/${randomUUID()}/checkpoint.json`;
    proxy.faultFor = () => null;
  });

  test('a run that checked its lock before a takeover does not write the text', async () => {
    const [paused, heir] = [newRun(), newRun()];
    await paused.replaceText(path, 'one', ALONE);
    await heir.revokeText(path, ALONE);
    expect(await heir.readText(path, 100)).toBe('one\n');
    await expect(paused.replaceText(path, 'two', ALONE)).rejects.toThrow('something else has written it meanwhile');
    // The write fails also if the new text is read and stored unchanged.
    await heir.replaceText(path, 'three', ALONE);
    await heir.revokeText(path, ALONE);
    expect(await heir.readText(path, 100)).toBe('three\n');
    await newRun().revokeText(`${path}.none`, ALONE);
    expect(await heir.exists(`${path}.none`)).toBe(false);
  });

  test('a first text does not overwrite one that another run has written meanwhile', async () => {
    const paused = newRun();
    let looks = 0;
    const write = paused.replaceText(path, 'ours', {
      ...ALONE,
      check: async () => {
        if (looks++ === 0) await newRun().replaceText(path, 'theirs', ALONE);
      },
    });
    await expect(write).rejects.toThrow('something else has written it meanwhile');
    expect(await newRun().readText(path, 100)).toBe('theirs');
  });

  test('a text is written once although the answers are lost', async () => {
    const run = newRun();
    let puts = 0;
    proxy.faultFor = ({ method }) => (method === 'PUT' && ++puts % 2 === 1 ? { kind: 'lost' } : null);
    for (const text of ['one', 'two', 'three']) {
      await run.replaceText(path, text, ALONE);
      expect(await run.readText(path, 100)).toBe(text);
    }
  });

  test('a text is refused when it is longer than permitted', async () => {
    const run = newRun();
    await run.replaceText(path, 'x'.repeat(1_000), ALONE);
    await expect(run.readText(path, 999)).rejects.toMatchObject({ message: expect.stringContaining('longer than 999 bytes') });
  });
});
