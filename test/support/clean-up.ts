/** Registers clean-up of a service or a folder where a test creates it. `clean-up-hook.ts` runs it after each test of any file. */

export type CleanUp = () => Promise<unknown> | void;

const waiting: CleanUp[] = [];

/** Registers work for the end of the running test. The last registered work runs first. */
export function cleanUp(how: CleanUp): void {
  waiting.push(how);
}

/** Runs all registered work, whatever fails in between. @throws the first error */
export async function cleanUpNow(): Promise<void> {
  const wrong: unknown[] = [];
  for (const how of waiting.splice(0).reverse()) {
    try {
      await how();
    } catch (error) {
      wrong.push(error);
    }
  }
  if (wrong.length > 0) throw wrong[0];
}
