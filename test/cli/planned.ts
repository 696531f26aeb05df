/** An input, and what `millrace plan` says of it. */
import { expect } from 'vitest';
import { leads } from '../support/leads.ts';
import { flags, type World } from '../support/world.ts';
import type { Step } from '../../src/steps/registry.ts';

export interface Plan {
  readonly start: string;
  readonly records: number;
  readonly invalid: number;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly requests: Readonly<Record<Step | 'total', number>>;
  readonly rpm: number | null;
  readonly seconds: number | null;
}

export const ROWS = leads(400, 51);
/** The lookups that a run of these rows needs, by the contract. */
export const KEYS = new Set(ROWS.flatMap(({ key }) => key ?? []));
export const ADDRESSES = new Set(ROWS.map(({ cells }) => (cells[1] ?? '').trim().toLowerCase()).filter((email) => email !== ''));
export const INVALID = ROWS.filter(({ key }) => key === null).length;
/** People that are never verified: suppressed, or refused by enrich. */
export const UNVERIFIED = new Set(ROWS.flatMap(({ key }) => (key !== null && /^(gone|refused)/.test(key) ? [key] : [])));

/** `millrace plan --json`. Expects that it leaves no file behind. */
export async function plan({ folder, service }: World, more: Record<string, string> = {}): Promise<Plan> {
  const before = await folder.files();
  const ended = await folder.run(
    [
      'plan',
      ...flags({
        input: 'in.csv',
        output: 'out.csv',
        rpm: '600',
        'base-url': service.url,
        'checkpoint.everyMs': '50',
        json: true,
        ...more,
      }),
    ],
    { env: { MILLRACE_API_KEY: '' } },
  );
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  // No file stays behind, not even a file of SQLite.
  expect(await folder.files()).toEqual(before);
  return JSON.parse(ended.stdout) as Plan;
}
