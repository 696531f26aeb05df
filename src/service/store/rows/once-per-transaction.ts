/** Caches a query for the length of a transaction, because no other process can change its result meanwhile. Pure. */

/** Caches `ask` until the transaction ends. Callers that change the result themselves must not rely on it. */
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
