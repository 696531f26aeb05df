import { expect, test } from 'vitest';
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
  const { credits } = (await folder.json('out.csv.report.json')) as { credits: number };
  // The service charges nothing again for the answers that no file had when the process was killed: nobody has counted those.
  expect(credits).toBeGreaterThanOrEqual(STORED_AFTER);
  expect(credits).toBeLessThanOrEqual(service.credits);
});
