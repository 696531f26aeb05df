/** Reserved domain names, which never receive mail (RFC 2606, 6761, 6762, 7686). Pure. */

/** Reserved everywhere: `.invalid` and `localhost` (RFC 6761), `.local` (RFC 6762), `.onion` (RFC 7686). */
const EVERYWHERE: ReadonlySet<string> = new Set(['invalid', 'localhost', 'local', 'onion']);
/** Reserved outside a test bed, which may have zones of these names (RFC 6761 6.2, RFC 2606 2 and 3). */
const OUTSIDE_TEST_BEDS: ReadonlySet<string> = new Set(['test', 'example', 'example.com', 'example.net', 'example.org']);

/** @param domain ASCII, lower case, with or without a dot. @param ownDns true for the operator's own DNS server */
export function isReserved(domain: string, ownDns: boolean): boolean {
  const names = domain.split('.');
  const [top, second] = [names.at(-1) ?? '', names.slice(-2).join('.')];
  if (EVERYWHERE.has(top)) return true;
  return !ownDns && (OUTSIDE_TEST_BEDS.has(top) || OUTSIDE_TEST_BEDS.has(second));
}
