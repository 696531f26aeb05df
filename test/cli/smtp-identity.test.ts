import { expect, it } from 'vitest';
import { ownName, smtpIdentity } from '../../src/cli/smtp-identity.ts';

it.each([
  [{}, null],
  [{ MILLRACE_SMTP_SENDER: 'a@acme.example' }, null],
  [{ MILLRACE_SMTP_EHLO_NAME: 'Mail.Acme.example' }, { ehloName: 'mail.acme.example', sender: '' }],
  [{ MILLRACE_SMTP_EHLO_NAME: 'mail.acme.example', MILLRACE_SMTP_SENDER: 'Probe@acme.example' }, { ehloName: 'mail.acme.example', sender: 'Probe@acme.example' }],
])('%j: %j', (env, expected) => {
  expect(smtpIdentity(env)).toEqual(expected);
});

it.each([
  [{ MILLRACE_SMTP_EHLO_NAME: 'localhost' }, 'bad_ehlo_name'],
  [{ MILLRACE_SMTP_EHLO_NAME: 'a.example\r\nRSET' }, 'bad_ehlo_name'],
  [{ MILLRACE_SMTP_EHLO_NAME: 'a.example', MILLRACE_SMTP_SENDER: 'nobody' }, 'bad_smtp_sender'],
  [{ MILLRACE_SMTP_EHLO_NAME: 'a.example', MILLRACE_SMTP_SENDER: 'a@acme.example>\r\nRSET' }, 'bad_smtp_sender'],
])('%j is refused: %s', (env, code) => {
  expect(() => smtpIdentity(env)).toThrow(expect.objectContaining({ exitCode: 78, code }) as Error);
});

it.each([
  ['Mail.Acme.example', 'mail.acme.example'],
  ['mail.acme.example.', 'mail.acme.example'],
  ['laptop', null],
  ['laptop.local', null],
  ['localhost.localdomain', null],
  ['ip-10-0-0-1.eu-west-1.compute.internal', null],
  ['my_host.acme.example', null],
])('a machine that calls itself %s is %s to mail servers', (hostname, expected) => {
  expect(ownName(hostname)).toBe(expected);
});
