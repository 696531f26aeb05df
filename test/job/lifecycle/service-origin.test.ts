import { describe, expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { ledgerOrigin, newLedgerKey, serviceOrigin } from '../../../src/job/lifecycle/service-origin.ts';

const WITH_PATH = 'https://user:pass@API.example.com:443/eu/v2';

describe('the name of a service', () => {
  it('has neither path nor user name where a quota is shared', () => {
    expect(serviceOrigin(WITH_PATH)).toBe('https://api.example.com');
    expect(serviceOrigin('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
    expect(serviceOrigin(null)).toBe('embedded');
  });

  it('has the path in the ledger, but not for a run that an earlier version began', () => {
    expect(ledgerOrigin(WITH_PATH, { ledgerKey: 'path' })).toBe('https://api.example.com/eu/v2');
    expect(ledgerOrigin(`${WITH_PATH}/`, { ledgerKey: 'path' })).toBe('https://api.example.com/eu/v2');
    expect(ledgerOrigin(WITH_PATH, {})).toBe('https://api.example.com');
    expect(ledgerOrigin('http://127.0.0.1:8080', { ledgerKey: 'path' })).toBe('http://127.0.0.1:8080');
    expect(ledgerOrigin(null, { ledgerKey: 'path' })).toBe('embedded');
  });

  it('the checkpoint of a new run has the form of the key only where an address has a path', () => {
    const job = (...urls: (string | null)[]): CompiledJob =>
      ({ providers: urls.map((baseUrl) => ({ baseUrl })) }) as unknown as CompiledJob;
    expect(newLedgerKey(job('http://127.0.0.1:8080'))).toEqual({});
    expect(newLedgerKey(job(null, 'https://a.example'))).toEqual({});
    expect(newLedgerKey(job(WITH_PATH))).toEqual({ ledgerKey: 'path' });
    expect(newLedgerKey(job(null, 'https://a.example', WITH_PATH))).toEqual({ ledgerKey: 'path' });
  });
});
