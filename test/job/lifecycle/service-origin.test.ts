import { describe, expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { serviceOrigin } from '../../../src/job/lifecycle/service-origin.ts';

describe('serviceOrigin', () => {
  const origin = (baseUrl: string | null): string => serviceOrigin({ service: { baseUrl } } as CompiledJob);

  it('has neither the path nor the user name of the service address', () => {
    expect(origin('https://user:pass@API.example.com:443/eu/v2')).toBe('https://api.example.com');
    expect(origin('http://127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
    expect(origin(null)).toBe('embedded');
  });
});
