/** Standard output of a command that runs in this process. */
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
