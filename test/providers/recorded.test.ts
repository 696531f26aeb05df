/** The recorded answers of vendors have one form, name the page that shows them, and hold nobody's data. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Recorded {
  readonly name: string;
  readonly operation: string;
  readonly lookups: readonly Readonly<Record<string, string>>[];
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
  readonly source: string;
}

const FOLDER = `${import.meta.dirname}/recorded`;
const ADDRESS = /[\w.+-]+@([\w.-]+)/g;

describe.each(globSync('*.json', { cwd: FOLDER }))('the recorded answers in %s', (file) => {
  const text = readFileSync(`${FOLDER}/${file}`, 'utf8');
  const answers = JSON.parse(text) as readonly Recorded[];

  it('have names, lookups of one operation, an answer and its page', () => {
    expect(answers.length).toBeGreaterThan(0);
    expect(new Set(answers.map(({ operation, name }) => `${operation} ${name}`)).size).toBe(answers.length);
    for (const { name, operation, lookups, response, source } of answers) {
      expect(['enrich', 'verify', 'company', 'reveal']).toContain(operation);
      // Only a bad request may lack what to look up.
      expect([name, lookups.length > 0 || response.status === 400, source.startsWith('https://')]).toEqual([
        expect.stringMatching(/./),
        true,
        true,
      ]);
      expect([response.status, typeof response.headers, response.body]).toEqual([expect.any(Number), 'object', expect.anything()]);
    }
  });

  it('have addresses of example domains only', () => {
    // Dropcontact qualifies an address with words such as nominative@pro.
    const domains = [...text.matchAll(ADDRESS)].map(([, domain = '']) => domain.replace(/\.$/, ''));
    expect(domains.filter((domain) => !/(?:^|\.)example(?:\.(?:com|org|net))?$|^pro$/.test(domain))).toEqual([]);
  });
});
