/** Local parts that name a function rather than a person: RFC 2142, and what companies use besides. Compiled by hand, 2025. */
export const ROLE_LOCAL_PARTS: readonly string[] = [
  // RFC 2142
  'abuse', 'ftp', 'hostmaster', 'info', 'list', 'marketing', 'news', 'noc', 'postmaster', 'sales', 'security', 'support', 'usenet',
  'uucp', 'webmaster', 'www',
  // in wide use
  'accounting', 'accounts', 'admin', 'administrator', 'billing', 'booking', 'bookings', 'careers', 'compliance', 'contact',
  'customerservice', 'enquiries', 'feedback', 'finance', 'hello', 'help', 'helpdesk', 'hr', 'inquiries', 'invoices', 'it', 'jobs',
  'legal', 'mail', 'media', 'no-reply', 'noreply', 'office', 'orders', 'partners', 'press', 'privacy', 'recruiting', 'reception',
  'root', 'service', 'team', 'welcome',
  // other languages
  'bewerbung', 'buchhaltung', 'comercial', 'commercial', 'contabilidad', 'contacto', 'contato', 'kontakt', 'rechnung', 'rh', 'vendas',
  'ventas', 'vertrieb',
];
