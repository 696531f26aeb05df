import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { MailWorld } from '../../../src/service/sample/mail-world/world.ts';
import type { SmtpSettings } from '../../../src/verification/smtp/settings.ts';
import type { EmailVerification } from '../../../src/verification/types.ts';
import { inWorld } from '../in-world.ts';

const PRIMARY = 'mx1.one.test';
const BACKUP = 'mx2.two.test';
const REFUSES = 'mx.refuses.test';
const WORLD: MailWorld = {
  hosts: { [REFUSES]: { quirk: 'refuses' }, [PRIMARY]: {}, [BACKUP]: { takesAnybody: true, smtputf8: true } },
  domains: {
    'one.test': {
      mx: [
        [10, PRIMARY],
        [20, BACKUP],
      ],
      mailboxes: ['jane', 'joe'],
    },
  },
};
const PERSON = { result: 'deliverable', reason: 'accepted', confidence: 97, flags: { accept_all: false }, smtp: { host: PRIMARY } };
const ANYBODY = { result: 'risky', reason: 'accept_all', flags: { accept_all: true }, smtp: { host: BACKUP } };

/** A world whose primary host can go down, which ends its conversations, and recover. */
async function withOutages(): Promise<{
  one: (email: string) => Promise<EmailVerification>;
  goDown: () => Promise<void>;
  recover: () => void;
}> {
  let isDown = false;
  const open = new Set<Socket>();
  const connect: SmtpSettings['connect'] = async (target, timeoutMs, signal) => {
    // A host that refuses at once stands in for the dead one, because a silent host would cost a timeout.
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
    recover: () => (isDown = false),
  };
}

it('the last of ten mail hosts is asked when the other nine refuse every recipient', async () => {
  const refusing = Array.from({ length: 9 }, (_, i) => `mx${i}.refuses.test`);
  const { one } = await inWorld(
    {},
    {},
    {
      hosts: { ...Object.fromEntries(refusing.map((host) => [host, { quirk: 'refuses' }])), [PRIMARY]: {} },
      domains: { 'one.test': { mx: [...refusing.map((host, i) => [i, host] as [number, string]), [90, PRIMARY]], mailboxes: ['jane'] } },
    },
  );
  expect(await one('jane@one.test')).toMatchObject(PERSON);
});

describe('an accept-all backup host', () => {
  it('the backup is recognised as accept-all while the primary is down, and the primary is not when it recovers', async () => {
    const { one, goDown, recover } = await withOutages();
    expect(await one('jane@one.test')).toMatchObject(PERSON);
    await goDown();
    for (const email of ['nobody@one.test', 'joe@one.test']) expect(await one(email)).toMatchObject(ANYBODY);
    recover();
    expect(await one('joe@one.test')).toMatchObject(PERSON);
    expect(await one('nobody@one.test')).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox' });
  });

  it('the backup is recognised as accept-all when it is asked about a part of the batch only', async () => {
    const { verify } = await inWorld({}, {}, WORLD);
    // The primary does not support the second address, which needs SMTPUTF8.
    const [jane, other] = await verify(['jane@one.test', '用户@one.test']);
    expect(jane).toMatchObject(PERSON);
    expect(other).toMatchObject(ANYBODY);
  });
});
