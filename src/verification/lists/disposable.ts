/** Providers whose whole purpose is an address to throw away. Compiled by hand, 2025; small and certain rather than wide. */
export const DISPOSABLE_DOMAINS: readonly string[] = [
  '10minutemail.com', '10minutemail.net', '20minutemail.com', '33mail.com', 'anonbox.net', 'burnermail.io', 'byom.de', 'discard.email',
  'discardmail.com', 'discardmail.de', 'dispostable.com', 'dropmail.me', 'emailondeck.com', 'fakeinbox.com', 'fakemailgenerator.com',
  'getairmail.com', 'getnada.com', 'grr.la', 'guerrillamail.biz', 'guerrillamail.com', 'guerrillamail.de', 'guerrillamail.info',
  'guerrillamail.net', 'guerrillamail.org', 'guerrillamailblock.com', 'harakirimail.com', 'inboxkitten.com', 'incognitomail.org',
  'jetable.org', 'maildrop.cc', 'mailcatch.com', 'mailinator.com', 'mailinator.net', 'mailinator2.com', 'mailnesia.com', 'mailnull.com',
  'mailsac.com', 'meltmail.com', 'mintemail.com', 'moakt.com', 'mohmal.com', 'mytemp.email', 'mytrashmail.com', 'nada.email',
  'sharklasers.com', 'sogetthis.com', 'spam4.me', 'spamex.com', 'spamgourmet.com', 'tempail.com', 'temp-mail.io', 'temp-mail.org',
  'tempinbox.com', 'tempmail.net', 'tempmailo.com', 'tempr.email', 'throwawaymail.com', 'trash-mail.com', 'trashmail.com',
  'trashmail.de', 'trashmail.net', 'wegwerfmail.de', 'yopmail.com', 'yopmail.fr', 'yopmail.net',
];
