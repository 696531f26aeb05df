/** POST /v1/enrich, POST /v1/contacts/reveal and GET /v1/companies/{domain} over HTTP. */
import { hash } from 'node:crypto';
import type { EndpointAnswer, Endpoint } from '../calls/endpoint.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import type { Directory } from '../store/directory.ts';
import { COMPANY_CREDITS, findCompanyText } from './company.ts';
import { enrichOne, enrichmentEvent, type EnrichDependencies } from './enrich.ts';
import type { FreshVerdictDependencies } from './fresh-verdict.ts';
import { revealOne } from './reveal.ts';

export function enrichEndpoint(dependencies: EnrichDependencies): Endpoint {
  return (body, { call }) => {
    const found = enrichOne(dependencies, body);
    const announce = (answer: EndpointAnswer): EndpointAnswer => {
      enrichmentEvent(dependencies, call.charge, body, () => JSON.parse(answer.text) as SparseRecord)();
      return answer;
    };
    return found instanceof Promise ? found.then(announce) : announce(found);
  };
}

export function revealEndpoint(dependencies: FreshVerdictDependencies): Endpoint {
  return (body) => revealOne(dependencies, body);
}

/** A record that the client has already (RFC 9110 13.1.2) is not sent and costs nothing. */
export function companyEndpoint({ directory }: { readonly directory: Directory }): Endpoint {
  return (_body, request) => {
    const text = findCompanyText(directory, (request.params as { domain: string }).domain);
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
    if (isSame(request.headers['if-none-match'], etag)) return { status: 304, text: '', credits: 0, headers: { etag } };
    return { status: 200, text, credits: COMPANY_CREDITS, headers: { etag } };
  };
}

function isSame(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag) ?? false;
}
