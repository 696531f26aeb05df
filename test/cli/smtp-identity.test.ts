import { describe, expect, it } from 'vitest';
import type { Invocation } from '../../src/cli/invocation.ts';
import { serveMail } from '../../src/cli/mail-flags.ts';
import { smtpIdentity } from '../../src/cli/smtp-identity.ts';

const NAME = 'MILLRACE_SMTP_EHLO_NAME';
const SENDER = 'MILLRACE_SMTP_SENDER';
const given = (env: NodeJS.ProcessEnv, flags: Readonly<Record<string, string | boolean>> = {}): Invocation => ({
  action: null,
  job: null,
  keys: [],
  env,
  flags: new Map(Object.entries(flags)),
});

describe('smtpIdentity', () => {
  it.each<[NodeJS.ProcessEnv, Record<string, string>, { ehloName: string; sender: string }]>([
    [{}, {}, { ehloName: 'fallback.example', sender: '' }],
    [{ [SENDER]: 'a@acme.example' }, {}, { ehloName: 'fallback.example', sender: 'a@acme.example' }],
    [{ [NAME]: 'Mail.Acme.example' }, {}, { ehloName: 'mail.acme.example', sender: '' }],
    [{ [NAME]: 'mail.acme.example', [SENDER]: 'Probe@acme.example' }, {}, { ehloName: 'mail.acme.example', sender: 'Probe@acme.example' }],
    [
      { [NAME]: 'mail.acme.example', [SENDER]: 'a@acme.example' },
      { 'ehlo-name': 'other.example', 'mail-from': 'b@acme.example' },
      { ehloName: 'other.example', sender: 'b@acme.example' },
    ],
  ])('reads variables %j and flags %j as %j', (env, flags, expected) => {
    expect(smtpIdentity(given(env, flags), 'fallback.example')).toEqual(expected);
  });

  it.each([
    [{ [NAME]: 'localhost' }, 'bad_ehlo_name'],
    [{ [NAME]: 'a.example\r\nRSET' }, 'bad_ehlo_name'],
    [{ [NAME]: 'a.example', [SENDER]: 'nobody' }, 'bad_smtp_sender'],
    [{ [NAME]: 'a.example', [SENDER]: 'a@acme.example>\r\nRSET' }, 'bad_smtp_sender'],
  ])('refuses %j with %s', (env, code) => {
    expect(() => smtpIdentity(given(env), null)).toThrow(expect.objectContaining({ exitCode: 78, code }) as Error);
  });

  it('names the flag that it refuses', () => {
    expect(() => smtpIdentity(given({}, { 'ehlo-name': 'localhost' }), null)).toThrow(
      expect.objectContaining({ exitCode: 64, message: expect.stringContaining('--ehlo-name must be a host name') as string }) as Error,
    );
  });
});

describe('serveMail', () => {
  it('asks mail servers when the machine has a public name, unless a flag forbids it', () => {
    expect(serveMail(given({}))).toEqual({ smtp: null, dnsServer: null, smtpPort: null });
    expect(serveMail(given({ [NAME]: 'mail.acme.example' })).smtp).toEqual({ ehloName: 'mail.acme.example', sender: '' });
    expect(serveMail(given({ [NAME]: 'mail.acme.example' }, { smtp: false, 'dns-server': '127.0.0.1:5353', 'smtp-port': '2525' }))).toEqual(
      { smtp: null, dnsServer: '127.0.0.1:5353', smtpPort: 2525 },
    );
    expect(() => serveMail(given({}, { smtp: true }))).toThrow(expect.objectContaining({ exitCode: 78, code: 'no_ehlo_name' }) as Error);
  });
});
