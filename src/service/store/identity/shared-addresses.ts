/**
 * Main addresses of several people. The row of the first one has it in its column, and the rows of the others among their other addresses.
 * Each of their records shows it.
 */
import type { Store } from '../store.ts';

/** Gives an address that its first person has left to the next one whose record shows it as the main address. */
export function addressPasser(store: Store): (email: string) => void {
  const next = store.prepare(
    "SELECT seq FROM other_addresses JOIN people ON people.seq = person WHERE other_addresses.email = ?1 AND doc ->> '$.email' = ?1 " +
      'ORDER BY seq LIMIT 1',
  );
  const own = store.prepare('UPDATE people SET email = ?1 WHERE seq = ?2');
  const forget = store.prepare('DELETE FROM other_addresses WHERE email = ?1 AND person = ?2');
  return (email) => {
    const seq = next.get(email)?.['seq'];
    if (typeof seq !== 'number') return;
    forget.run(email, seq);
    own.run(email, seq);
  };
}
