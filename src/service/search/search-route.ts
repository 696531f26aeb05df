/** GET and POST /v1/contacts/search over HTTP. */
import { andThen } from '../../util/steps.ts';
import type { Endpoint } from '../calls/endpoint.ts';
import { nextUrl } from '../http/cursor.ts';
import { findContacts, searchPage, type ContactPage, type SearchDependencies } from './contact-page.ts';
import { FILTERS } from './filters.ts';
import { bookSearches } from './search-price.ts';

export function searchByQuery(dependencies: SearchDependencies): Endpoint {
  return (_body, request) => {
    const values = new Map<string, readonly string[]>();
    for (const [name, value] of Object.entries(request.query as Readonly<Record<string, string | string[]>>)) {
      const list = Array.isArray(value) ? value : [value];
      // Other filters, such as a circle, have commas within a value.
      values.set(name, isDivided(name) ? list.flatMap((one) => one.split(',')) : list);
    }
    const { charge } = request.call;
    return andThen(dependencies.turns.run(charge.keyId, findContacts(dependencies, { values, origin: 'query' })), (page) => {
      const link = page.next === null ? {} : { link: `<${nextUrl(request.url, page.next)}>; rel="next"` };
      return { status: 200, text: pageText(page), credits: 0, headers: { ...bookSearches(charge, 1, page.units), ...link } };
    });
  };
}

export function searchByBody(dependencies: SearchDependencies): Endpoint {
  return (body, { call: { charge } }) =>
    andThen(dependencies.turns.run(charge.keyId, searchPage(dependencies, body)), (page) => ({
      status: 200,
      text: pageText(page),
      credits: 0,
      headers: bookSearches(charge, 1, page.units),
      named: { people: page.contacts.map(({ id }) => id) },
    }));
}

function pageText({ contacts, total, limit, next }: ContactPage): string {
  return JSON.stringify({ data: contacts.map(({ record }) => record), meta: { total, total_relation: 'eq', limit, next_cursor: next } });
}

function isDivided(name: string): boolean {
  return name === 'fields' || (Object.hasOwn(FILTERS, name) && FILTERS[name]?.divided === true);
}
