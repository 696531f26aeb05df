/** Texts that providers send in the place of a value that they keep back. Pure. */

/** Apollo's address for one that was not paid for, at `domain.com` or at the person's own domain. */
const KNOWN = /^email_not_unlocked@/i;

/** Whether a text stands for a value that is kept back. @param own further texts, in lower case */
export function isPlaceholder(text: string, own: readonly string[] = []): boolean {
  const plain = text.trim();
  return KNOWN.test(plain) || (own.length > 0 && own.includes(plain.toLowerCase()));
}
