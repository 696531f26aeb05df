/** Use case: the whole company record, by any domain of the company. */
import { normaliseDomain } from '../../verification/domain.ts';
import { ServiceError } from '../http/problem.ts';
import { findCompany } from './find-person.ts';
import type { Directory } from '../store/directory.ts';

export const COMPANY_CREDITS = 1;

/**
 * The whole record as JSON text.
 * @param given a domain or a URL, however it is written
 * @throws ServiceError when it is no domain, or no company is known by it
 */
export function findCompanyText(directory: Directory, given: string): string {
  const domain = normaliseDomain(given);
  if (domain === null) {
    const detail = 'this is no domain name, such as acme.example';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'domain', code: 'invalid_domain', detail }] });
  }
  const text = findCompany(directory, domain);
  if (text === null) throw new ServiceError('no_match', 'no company is known by this domain');
  return text;
}
