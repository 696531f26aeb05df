/** Checks of what the program itself guarantees. A failure is a mistake in the code, never of the user: exit code 70. */

/** @param sentence says what must hold. @throws Error */
export function assert(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Error(`this must not happen: ${sentence}`);
}

/** The value itself. @param sentence says why there must be one. @throws Error for null and undefined */
export function present<T>(value: T | null | undefined, sentence: string): T {
  assert(value !== null && value !== undefined, sentence);
  return value;
}
