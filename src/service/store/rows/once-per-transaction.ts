/** Caches a query for the length of a transaction. Pure. */

/**
 * Caches `ask` until the transaction ends. Callers that change the result themselves must not rely on it.
 * An erasure that begins meanwhile waits for the transaction, and then erases what it wrote.
 */
export function oncePerTransaction<T>(index: { readonly transactions: number }, ask: () => T): () => T {
  let answer: T;
  let askedIn = -1;
  return () => {
    if (askedIn !== index.transactions) {
      answer = ask();
      askedIn = index.transactions;
    }
    return answer;
  };
}
