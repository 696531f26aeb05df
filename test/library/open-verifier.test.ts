import { expect, it } from 'vitest';
import { ownName } from '../../src/library/open-verifier.ts';

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
