/** Mailboxes that anyone may open for nothing: such a domain says nothing about an employer. Compiled by hand, 2025. */
export const FREE_DOMAINS: readonly string[] = [
  '126.com', '139.com', '163.com', 'aol.com', 'bol.com.br', 'daum.net', 'email.it', 'fastmail.com', 'free.fr', 'freenet.de',
  'gmail.com', 'gmx.at', 'gmx.ch', 'gmx.com', 'gmx.de', 'gmx.net', 'googlemail.com', 'hanmail.net', 'hey.com', 'hotmail.co.uk',
  'hotmail.com', 'hotmail.de', 'hotmail.es', 'hotmail.fr', 'hotmail.it', 'hushmail.com', 'icloud.com', 'inbox.ru', 'interia.pl',
  'laposte.net', 'libero.it', 'list.ru', 'live.com', 'live.co.uk', 'live.fr', 'mac.com', 'mail.com', 'mail.ru', 'me.com', 'msn.com',
  'naver.com', 'o2.pl', 'orange.fr', 'outlook.com', 'outlook.de', 'outlook.es', 'outlook.fr', 'pm.me', 'proton.me', 'protonmail.com',
  'qq.com', 'rediffmail.com', 'rocketmail.com', 'seznam.cz', 'sina.com', 'sfr.fr', 't-online.de', 'terra.com.br', 'tuta.com',
  'tutanota.com', 'uol.com.br', 'wanadoo.fr', 'web.de', 'wp.pl', 'yahoo.ca', 'yahoo.co.in', 'yahoo.co.jp', 'yahoo.co.uk', 'yahoo.com',
  'yahoo.com.br', 'yahoo.de', 'yahoo.es', 'yahoo.fr', 'yahoo.it', 'yandex.com', 'yandex.ru', 'ymail.com', 'zoho.com',
];
