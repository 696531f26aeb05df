import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { MailWorld } from '../../../src/service/mail-world/world.ts';
import type { SmtpSettings } from '../../../src/verification/smtp/settings.ts';
import type { EmailVerification } from '../../../src/verification/types.ts';
import { inWorld } from '../in-world.ts';

const PRIMARY = 'mx1.one.test';
const BACKUP = 'mx2.two.test';
const REFUSES = 'mx.refuses.test';
const WORLD: MailWorld = {
  hosts: { [REFUSES]: { quirk: 'refuses' }, [PRIMARY]: {}, [BACKUP]: { takesAnybody: true, smtputf8: true } },
  domains: { 'one.test': { mx: [[10, PRIMARY], [20, BACKUP]], mailboxes: ['jane', 'joe'] } },
};
const PERSON = { result: 'deliverable', reason: 'accepted', confidence: 97, flags: { accept_all: false }, smtp: { host: PRIMARY } };
const ANYBODY = { result: 'risky', reason: 'accept_all', flags: { accept_all: true }, smtp: { host: BACKUP } };

/** Verifies where the primary can go down, with the conversations that it has, and come back. */
async function withOutages(): Promise<{ one: (email: string) => Promise<EmailVerification>; goDown: () => Promise<void>; comeBack: () => void }> {
  let isDown = false;
  const open = new Set<Socket>();
  const connect: SmtpSettings['connect'] = async (target, timeoutMs, signal) => {
    // One that refuses everybody is not waited for, as one of which nothing is heard would be.
    const socket = await world.connect(target.host === PRIMARY && isDown ? { ...target, host: REFUSES } : target, timeoutMs, signal);
    if (target.host === PRIMARY) open.add(socket.once('close', () => open.delete(socket)));
    return socket;
  };
  const { world, one } = await inWorld({ connect }, {}, WORLD);
  return {
    one,
    async goDown() {
      isDown = true;
      await Promise.all([...open].map((socket) => once(socket.destroy(), 'close')));
    },
    comeBack: () => (isDown = false),
  };
}

it('is the last of ten who is asked when the others refuse everybody', async () => {
  const refusing = Array.from({ length: 9 }, (_, i) => `mx${i}.refuses.test`);
  const { one } = await inWorld({}, {}, {
    hosts: { ...Object.fromEntries(refusing.map((host) => [host, { quirk: 'refuses' }])), [PRIMARY]: {} },
    domains: { 'one.test': { mx: [...refusing.map((host, i) => [i, host] as [number, string]), [90, PRIMARY]], mailboxes: ['jane'] } },
  });
  expect(await one('jane@one.test')).toMatchObject(PERSON);
});

describe('a backup that takes mail for anybody', () => {
  it('is found out, whatever is known of the host that it stands in for; and says nothing of that one when it is back', async () => {
    const { one, goDown, comeBack } = await withOutages();
    expect(await one('jane@one.test')).toMatchObject(PERSON);
    await goDown();
    for (const email of ['nobody@one.test', 'joe@one.test']) expect(await one(email)).toMatchObject(ANYBODY);
    comeBack();
    expect(await one('joe@one.test')).toMatchObject(PERSON);
    expect(await one('nobody@one.test')).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox' });
  });

  it('is found out when it is asked about some of a batch only', async () => {
    const { verify } = await inWorld({}, {}, WORLD);
    // The primary takes no such address as the second.
    const [jane, other] = await verify(['jane@one.test', '用户@one.test']);
    expect(jane).toMatchObject(PERSON);
    expect(other).toMatchObject(ANYBODY);
  });
});
