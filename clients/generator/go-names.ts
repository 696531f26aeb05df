/** Names of Go, with its manner of writing abbreviations. */

/** Parts of names that are written otherwise than with one capital. */
const PARTS: Readonly<Record<string, string>> = {
  id: 'ID',
  url: 'URL',
  linkedin: 'LinkedIn',
  github: 'GitHub',
  hq: 'HQ',
  naics: 'NAICS',
  sic: 'SIC',
  usd: 'USD',
  ms: 'MS',
  mx: 'MX',
  smtp: 'SMTP',
  smtputf8: 'SMTPUTF8',
  tls: 'TLS',
  ascii: 'ASCII',
  json: 'JSON',
  dns: 'DNS',
  csv: 'CSV',
  ndjson: 'NDJSON',
  ok: 'OK',
  '12m': '12M',
  '30d': '30D',
};

/** `linkedin_url` to `LinkedInURL`, `job.change` to `JobChange`; a value that begins with a minus sorts the other way. */
export function goName(name: string): string {
  const descending = name.includes('_-') ? 'Desc' : '';
  const parts = name.split(/[^A-Za-z0-9]+/).filter((part) => part !== '');
  return parts.map((part) => PARTS[part] ?? part.charAt(0).toUpperCase() + part.slice(1)).join('') + descending;
}
