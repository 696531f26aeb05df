/** GET /v1/companies/{domain}: the whole company record, by any domain of the company. */
import { hash } from 'node:crypto';
import { normaliseDomain } from '../../verification/domain.ts';
import type { Endpoint } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { findCompany } from '../lookup.ts';
import type { Directory } from '../store/directory.ts';

export const COMPANY_CREDITS = 1;

/** A record that the client has already (RFC 9110 13.1.2) is not sent and costs nothing. */
export function companyEndpoint(directory: Directory): Endpoint {
  return (_body, request) => {
    const text = companyByAny(directory, (request.params as { domain: string }).domain);
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
    if (matches(request.headers['if-none-match'], etag)) return { status: 304, text: '', credits: 0, headers: { etag } };
    return { status: 200, text, credits: COMPANY_CREDITS, headers: { etag } };
  };
}

/** The whole record of the company at a domain, however that is written. @throws ServiceError when it is no domain, or of no company that is known */
export function companyByAny(directory: Directory, given: string): string {
  const domain = normaliseDomain(given);
  if (domain === null) {
    const detail = 'this is no domain name, such as acme.example';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'domain', code: 'invalid_domain', detail }] });
  }
  const text = findCompany(directory, domain);
  if (text === null) throw new ServiceError('no_match', 'no company is known by this domain');
  return text;
}

function matches(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag) ?? false;
}
