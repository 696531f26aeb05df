/** Declares the shared server that a test file needs. Its tests are skipped loudly without the server. */
import { describe, inject, test } from 'vitest';

export type Facts = Readonly<Record<string, string>>;

/**
 * A suite with the facts of a shared server. Without the server the suite is skipped, or fails under `CI=true`. Await it at the top of a
 * test file.
 */
export async function describeWith(service: string, title: string, suite: (facts: Facts) => void | Promise<void>): Promise<void> {
  const facts = await neededFacts(service);
  if (typeof facts !== 'string') {
    describe(title, () => suite(facts));
    return;
  }
  const message = `${title}: needs a real server of ${service}. ${facts}`;
  if (process.env['CI'] === 'true') throw new Error(message);
  process.stderr.write(`\nSKIPPED: ${message}\n\n`);
  test.skip(message, () => undefined);
}

/** The facts of a shared server, or the reason why it is missing. */
export async function neededFacts(service: string): Promise<Facts | string> {
  const { facts, lacking } = (await (await fetch(`${inject('servicesUrl')}/${service}`)).json()) as { facts?: Facts; lacking?: string };
  return facts ?? lacking ?? 'it does not say why';
}
