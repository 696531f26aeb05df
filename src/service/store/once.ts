/** What the store is asked once a transaction, because nobody else can change it meanwhile. Pure. */

/** `ask`, whose answer holds until the end of a transaction; who changes it themselves must not rely on it. */
export function onceATransaction<T>(index: { readonly transactions: number }, ask: () => T): () => T {
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
