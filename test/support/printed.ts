/** What a command that runs in this process prints on standard output. */
import { vi } from 'vitest';

export async function printed(command: () => Promise<unknown>): Promise<string> {
  const spy = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await command();
    return spy.mock.calls.map(([chunk]) => String(chunk)).join('');
  } finally {
    spy.mockRestore();
  }
}
