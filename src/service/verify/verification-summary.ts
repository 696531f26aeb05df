/** How many results there are of each kind. Pure. */
import type { Verdict } from '../../verification/types.ts';

export function summarise(results: readonly { readonly result: Verdict }[]): Record<Verdict, number> {
  const summary: Record<Verdict, number> = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
  for (const { result } of results) summary[result]++;
  return summary;
}
