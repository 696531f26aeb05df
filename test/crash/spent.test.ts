import { expect, onTestFinished, test } from 'vitest';
import { Redis } from 'ioredis';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = 3_000;
/** The most answers that a ledger keeps in memory. */
const STORED_AFTER = 2_000;

test('the report of a killed and resumed job has the credits of all stored answers, also of those after its last checkpoint', async () => {
  const input = `email\n${Array.from({ length: ROWS }, (_, i) => `person${i}@works.example`).join('\n')}\n`;
  const { folder, service, args } = await makeWorld(input);
  const command = args({ steps: 'enrich', 'checkpoint.everyMs': '600000' });
  const killed = folder.start(command);
  await service.sees(STORED_AFTER + 500);
  killed.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');
  expect(await folder.run(command)).toMatchObject({ code: 0 });
  const { credits, creditsAtLeast } = (await folder.json('out.csv.report.json')) as { credits: number; creditsAtLeast?: number };
  // The service charges nothing again for the answers that no file had when the process was killed: nobody has counted those.
  expect(credits).toBeGreaterThanOrEqual(STORED_AFTER);
  expect(credits).toBeLessThan(service.credits);
  expect(creditsAtLeast).toBe(credits);
});

await describeWith('redis', 'a ledger in Redis', (facts) => {
  test('knows the credits of every answer that it has, also for a run that goes on elsewhere without its file', async () => {
    const input = `email\n${Array.from({ length: 600 }, (_, i) => `person${i}@works.example`).join('\n')}\n`;
    const [{ folder, service, args }, ledger] = await Promise.all([makeWorld(input), freeDatabase(facts)]);
    const client = new Redis(ledger);
    onTestFinished(() => client.disconnect());
    const command = (scratch: string): string[] => args({ steps: 'enrich', 'checkpoint.everyMs': '600000', ledger, scratch });
    const killed = folder.start(command('here'));
    await service.sees(300);
    killed.kill('SIGKILL');
    expect((await killed.ended).signal).toBe('SIGKILL');
    const lost = service.credits - (await client.keys('millrace:ledger:*:a:*')).length;
    expect(await folder.run(command('there'))).toMatchObject({ code: 0 });
    const { credits } = (await folder.json('out.csv.report.json')) as { credits: number };
    // An answer that is lost with the process costs nothing when it is asked for again: nobody has counted those.
    expect(service.credits - credits).toBeLessThanOrEqual(lost);
    expect(credits).toBeLessThanOrEqual(service.credits);
  });
});
