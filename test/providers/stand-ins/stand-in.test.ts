/** The parts that all stand-ins share: the world, faults, the log. */
import { describe, expect, it } from 'vitest';
import { startApollo } from './apollo.ts';
import { ask, opened } from './ask.ts';
import { findCompany, findPerson, PEOPLE_OF_A_COMPANY, personOf } from './world.ts';

const MATCH = '/api/v1/people/match';
const { email } = personOf(3);

describe('the world', () => {
  it('finds each person by each of its keys, and nobody else', () => {
    for (const index of [0, 1, PEOPLE_OF_A_COMPANY, 4_899, 4_900, 12_345_678]) {
      const { email, phone, linkedinUrl, firstName, lastName, domain, company } = personOf(index);
      const name = `${firstName} ${lastName}`;
      for (const keys of [{ email: email.toUpperCase() }, { phone }, { linkedinUrl }, { name, domain }, { firstName, lastName, company }])
        expect(findPerson(keys)).toBe(index);
      expect(findPerson({ name, domain: 'company-9.example' })).toBeNull();
    }
    for (const email of ['person-1@company-9.example', 'person-1@example.com', ''])
      expect([findPerson({ email }), findCompany({ domain: email })]).toEqual([null, null]);
  });
});

describe('a fault', () => {
  it('answers in place of the vendor, or changes its answer, until it is taken away', async () => {
    const standIn = await opened(startApollo());
    standIn.hook = () => ({ status: 500, body: 'oops' });
    expect(await ask(standIn, MATCH, { email })).toMatchObject({ status: 500, body: 'oops' });
    expect(standIn.counts).toMatchObject({ lookups: 0, refusedOther: 1 });
    standIn.hook = (_, usual) => ({ ...usual(), body: {} });
    expect(await ask(standIn, MATCH, { email })).toMatchObject({ status: 200, body: {} });
    standIn.hook = (call) => (call.number === 3 ? { status: 200, body: 'x'.repeat(100), isCut: true } : null);
    await expect(ask(standIn, MATCH, { email })).rejects.toThrow();
    expect(await ask(standIn, MATCH, { email })).toMatchObject({ body: { person: { email } } });
    expect(standIn.counts).toMatchObject({ requests: 4, charged: 2 });
  });

  it('cuts every connection while the stand-in is down', async () => {
    const standIn = await opened(startApollo());
    standIn.setDown(true);
    await expect(ask(standIn, MATCH, { email })).rejects.toThrow();
    standIn.setDown(false);
    expect(await ask(standIn, MATCH, { email })).toMatchObject({ status: 200 });
    expect(standIn.counts).toMatchObject({ requests: 1 });
  });
});

describe('the log', () => {
  it('shows each call with its status, and a test can wait for one', async () => {
    const standIn = await opened(startApollo());
    const seen = standIn.when(() => standIn.calls.some(({ status }) => status === 422));
    await Promise.all([ask(standIn, MATCH, {}), seen]);
    await ask(standIn, `${MATCH}?email=${email}`, { title: undefined });
    expect(standIn.calls.map(({ number, method, path, status, text }) => [number, method, path, status, text])).toEqual([
      [1, 'POST', MATCH, 422, '{}'],
      [2, 'POST', MATCH, 200, '{}'],
    ]);
    expect(standIn.calls[1]?.query.get('email')).toBe(email);
  });

  it('leaves the calls out for benches, and the counts stay', async () => {
    const standIn = await opened(startApollo({ hasLog: false }));
    await ask(standIn, MATCH, { email });
    expect([standIn.calls, standIn.paidFor.size, standIn.counts.charged]).toEqual([[], 0, 1]);
  });
});
