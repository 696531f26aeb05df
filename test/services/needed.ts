/** What a test file asks for: tests with a server that all share, or the loud word that they are skipped. */
import { describe, inject, test } from 'vitest';

export type Facts = Readonly<Record<string, string>>;

/**
 * A suite with a shared server, whose facts it is given. Where there is none it is skipped; under `CI=true` there must be
 * one, because a test that is never run shows nothing. To be awaited at the top of a test file.
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

/** What a test must know of a shared server, or why there is none. */
export async function neededFacts(service: string): Promise<Facts | string> {
  const { facts, lacking } = (await (await fetch(`${inject('servicesUrl')}/${service}`)).json()) as { facts?: Facts; lacking?: string };
  return facts ?? lacking ?? 'it does not say why';
}
