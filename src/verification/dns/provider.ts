/** The provider that runs a mail host, by its name. Pure. */
import { registrableDomain } from '../registrable.ts';

/** Registrable domains of the mail hosts of large providers, compiled by hand in 2026. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'google.com': 'google',
  'googlemail.com': 'google',
  'outlook.com': 'microsoft',
  'hotmail.com': 'microsoft',
  'yahoodns.net': 'yahoo',
  'icloud.com': 'apple',
  'zoho.com': 'zoho',
  'zoho.eu': 'zoho',
  'protonmail.ch': 'proton',
  'mimecast.com': 'mimecast',
  'pphosted.com': 'proofpoint',
  'ppe-hosted.com': 'proofpoint',
  'messagelabs.com': 'symantec',
  'barracudanetworks.com': 'barracuda',
  'secureserver.net': 'godaddy',
  'ovh.net': 'ovh',
  'mail.ru': 'mailru',
  'yandex.net': 'yandex',
  'yandex.ru': 'yandex',
  'qq.com': 'tencent',
  'amazonaws.com': 'amazon',
  'messagingengine.com': 'fastmail',
  'emailsrvr.com': 'rackspace',
  'kundenserver.de': 'ionos',
};

/** A short name for well-known providers, else the registrable domain of the host. Hosts of one provider share its limits. */
export function providerOf(host: string): string {
  const domain = registrableDomain(host);
  return Object.hasOwn(PROVIDERS, domain) ? (PROVIDERS[domain] as string) : domain;
}
