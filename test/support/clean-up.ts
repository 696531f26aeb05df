/** What a test has to put away at its end, told by whoever made it: a service, a folder. `clean-up-hook.ts` does it after each test of any file. */

export type CleanUp = () => Promise<unknown> | void;

const waiting: CleanUp[] = [];

/** Has something done after the test that is running, the last first. */
export function cleanUp(how: CleanUp): void {
  waiting.push(how);
}

/** Does all of it, whatever goes wrong in between. @throws what went wrong first */
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
