import { describe, expect, it } from 'vitest';
import { wrongAddressError } from '../../src/pool/fatal-errors.ts';

describe('wrongAddressError', () => {
  it.each([
    [404, 'POST http://localhost/v1/enrich answered 404', 'POST http://localhost/v1/enrich answered 404'],
    [404, 'POST http://localhost/v1/enrich answered 404: No such path.', 'POST http://localhost/v1/enrich answered 404: No such path.'],
    [405, 'HTTP 405 (an HTML page)', '405 (an HTML page)'],
    [403, 'Forbidden (an HTML page)', '403 Forbidden (an HTML page)'],
  ])('%d, %j: the status once', (status, detail, said) => {
    expect(wrongAddressError(status, detail)).toMatchObject({ exitCode: 78, code: 'not_the_service', message: `this does not look like the data service: ${said}`, hint: expect.stringContaining('before /v1') });
  });

  it('says to leave out /v1 where the base URL ends in it', () => {
    expect(wrongAddressError(404, 'POST http://localhost/v1/v1/enrich answered 404').hint).toBe('Leave out /v1 at the end of --base-url: Millrace adds it.');
  });
});
