import { describe, expect, it } from 'vitest';
import { LONG_WAIT_MS, Notices, warnOfMissesAlone } from '../../../src/job/progress/notices.ts';

function listen(): { readonly said: string[]; readonly notices: Notices } {
  const said: string[] = [];
  const hear = (level: string) => (event: string, text: string) => void said.push(`${level} ${event}: ${text}`);
  return { said, notices: new Notices({ detail: hear('detail'), info: hear('info'), warn: hear('warn') }, 600_000, () => 1_000) };
}

describe('Notices', () => {
  it('name why the service counts as down, how long the run waits, and how long the outage took', () => {
    const { said, notices } = listen();
    notices.wentDown('network', 'connect ECONNREFUSED 10.0.0.1:443', false);
    notices.wentDown('http_503', '', false);
    notices.wentDown('http_500', 'oops', true);
    notices.cameBack(31_400);
    expect(said).toEqual([
      'warn service_down: the service is down (network: connect ECONNREFUSED 10.0.0.1:443); waiting for it, 10 min 0 s at most',
      'warn service_down: the service is down (http_503); waiting for it, 10 min 0 s at most',
      'warn service_down: the last lookups fail (http_500: oops): the service ' +
        'is down, or fails for these alone; asking again for 10 min 0 s at most',
      'info service_back: the service is back after 32 s',
    ]);
  });

  it('log the unit of the resets', () => {
    const { said, notices } = listen();
    notices.resetUnit('in seconds from now');
    expect(said).toEqual(['detail reset_unit: the service states the reset of its quota in seconds from now']);
  });

  it('warn of an unreadable reset, with its text cut to a line', () => {
    const { said, notices } = listen();
    notices.unreadableReset(`soon\u001b[2J${'x'.repeat(100)}`);
    expect(said).toEqual([
      `warn reset_unreadable: the service states the reset of its quota as "soon\ufffd[2J${'x'.repeat(32)}...", which is no number, ` +
        'date or duration: the run goes by what it has sent',
    ]);
  });

  it('name the number of pending addresses after a long wait', () => {
    const { said, notices } = listen();
    notices.pending(3, LONG_WAIT_MS - 1);
    notices.pending(1, LONG_WAIT_MS);
    notices.pending(12, 360_000);
    expect(said).toEqual([
      'info pending: 1 address is pending; asking again in 10 s',
      'info pending: 12 addresses are pending; asking again in 6 min 0 s',
    ]);
  });

  it("name the new size of a step's requests, and why", () => {
    const { said, notices } = listen();
    notices.smallerRequests('verify', 500, 'ran into the time limit of 30 s');
    notices.smallerRequests('verify', 1, 'were refused as too large (HTTP 413)');
    notices.largerRequests('verify', 1_000);
    notices.smallerRequests('enrich', 50, 'ran into the time limit of 30 s');
    expect(said).toEqual([
      'warn smaller_verify_requests: verify requests ran into the time limit of 30 s: 500 addresses a request now',
      'warn smaller_verify_requests: verify requests were refused as too large (HTTP 413): 1 address a request now',
      'info larger_verify_requests: verify requests are answered well within the time limit: 1,000 addresses a request now',
      'warn smaller_enrich_requests: enrich requests ran into the time limit of 30 s: 50 lookups a request now',
    ]);
  });

  it('report each long wait once', () => {
    const { said, notices } = listen();
    const asked = { cause: 'retry_after', what: 'the end of the pause that the service asked for' } as const;
    const usedUp = { cause: 'used_up', what: 'the quota of 9 requests an hour, which is used up' } as const;
    notices.throttled({ untilMs: 1_000 + LONG_WAIT_MS - 1, isNew: true, ...asked });
    notices.throttled({ untilMs: 1_000 + LONG_WAIT_MS, isNew: true, ...asked });
    notices.throttled({ untilMs: 1_000 + 2 * LONG_WAIT_MS, isNew: false, ...asked });
    notices.throttled({ untilMs: 1_000 + 2 * LONG_WAIT_MS, isNew: true, ...usedUp });
    for (const isNew of [true, true]) notices.throttled({ untilMs: 6_000, isNew, cause: 'unstated', what: 'the end of a pause' });
    expect(said).toEqual([
      'info throttled: the service asks to wait 10 s: nothing is sent until then',
      `info throttled: the service refused a request: nothing is sent for 20 s, waiting for ${usedUp.what}`,
      'detail throttled_unstated: the service refuses requests without naming a wait. After a refusal nothing is sent for up to 5 s, ' +
        'then fewer requests at once',
    ]);
  });

  it('warn of a job in which nothing matched, and of no other', () => {
    const of = (matched: number, no_match: number): string[] => {
      const said: string[] = [];
      const records = { total: 40, matched, no_match, invalid: 0, suppressed: 0, failed: 40 - matched - no_match };
      warnOfMissesAlone({ records }, { warn: (event) => void said.push(event) });
      return said;
    };
    expect([of(0, 40), of(0, 10), of(0, 9), of(1, 39)]).toEqual([['misses_alone'], ['misses_alone'], [], []]);
  });
});
