/** The reference as one page that needs nothing from elsewhere, made from the document. Pure. */
import { hash } from 'node:crypto';
import { ERRORS, type ErrorCode } from '../../http/problem.ts';
import { OPERATIONS } from '../operations.ts';
import { EVENTS } from '../../webhooks/event-schema.ts';
import type { OpenApiDocument } from '../document.ts';
import { HEADERS, POST_HEADERS } from '../headers.ts';
import { PROBLEM_NOTES } from '../problems.ts';
import { escape, paragraphs, prose, table } from '../../../util/html.ts';
import { operationSection } from './operation-section.ts';
import { schemaTable, typeText } from './schema-table.ts';
import { STYLE } from './style.ts';

/** The search, the address in the examples, and unfolding everything for print. The page is complete without it. */
const SCRIPT = `
for (const origin of document.querySelectorAll('.origin')) origin.textContent = location.origin;
const search = document.querySelector('#search');
const sections = [...document.querySelectorAll('[data-words]')];
document.querySelector('.search').hidden = false;
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const section of sections) section.hidden = !words.every((word) => section.dataset.words.includes(word));
});
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
`;

function digest(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`;
}

/** Nothing is loaded from anywhere, and nothing runs but the page's own script. */
export const PAGE_POLICY =
  `default-src 'none'; style-src ${digest(STYLE)}; script-src ${digest(SCRIPT)}; ` +
  `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function referencePage(document: OpenApiDocument): string {
  const { title, version, description } = document.info as {
    readonly title: string;
    readonly version: string;
    readonly description: string;
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escape(title)}</h1>
<p>Version ${escape(version)}. For programs: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
${paragraphs(description)}
</header>
<nav aria-label="Operations">
<p class="search" hidden><input id="search" type="search" placeholder="Find an operation" aria-label="Find an operation"></p>
${contents(document)}
</nav>
<main>
${document.tags.map(({ name, description: about }) => tagged(name, about, document)).join('\n')}
<h2 id="events">Events sent to webhooks</h2>
${eventTable()}
<h2 id="headers">Headers of answers</h2>
${headerTable()}
<h2 id="errors">Errors</h2>
${errorTable()}
<h2 id="records">Records</h2>
${records(document)}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function contents(document: OpenApiDocument): string {
  const items = document.tags
    .flatMap(({ name }) => OPERATIONS.filter(({ tag }) => tag === name))
    .map(({ id, method, path, summary, description }) => {
      const words = escape(`${id} ${method} ${path} ${summary} ${description}`.toLowerCase());
      return (
        `<li data-words="${words}"><a href="#${escape(id)}"><span ` +
        `class="method">${method}</span> <code>${escape(path)}</code></a> ${escape(summary)}</li>`
      );
    });
  return (
    `<ul>${items.join('\n')}</ul>\n<p><a href="#events">Events</a> · <a href="#headers">Headers</a> ` +
    '· <a href="#errors">Errors</a> · <a href="#records">Records</a></p>'
  );
}

function tagged(name: string, description: string, document: OpenApiDocument): string {
  return `<h2>${escape(name)}</h2>\n<p>${prose(description)}</p>\n${OPERATIONS.filter(({ tag }) => tag === name)
    .map((operation) => operationSection(operation, document))
    .join('\n')}`;
}

function eventTable(): string {
  return table(
    ['Type', '<code>data</code>', 'Meaning'],
    Object.entries(EVENTS).map(([type, { summary, description, data }]) => [
      `<code>${escape(type)}</code>`,
      typeText(data),
      `${prose(summary)}. ${prose(description)}`,
    ]),
  );
}

function headerTable(): string {
  const rows = Object.entries(HEADERS).map(([name, { description, example }]) => [
    `<code>${escape(name)}</code>`,
    `${prose(description)} Such as <code>${escape(String(example))}</code>.`,
  ]);
  const sent = Object.entries(POST_HEADERS).map(([name, { description }]) => [
    `<code>${escape(name)}</code> (sent with any POST)`,
    prose(description),
  ]);
  return table(['Header', 'Meaning'], [...rows, ...sent]);
}

function errorTable(): string {
  const rows = (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
    `<code id="error-${code}">${code}</code>`,
    String(ERRORS[code].status),
    prose(PROBLEM_NOTES[code]),
    ERRORS[code].retryable ? 'yes' : 'no',
  ]);
  return table(['Code', 'Status', 'Meaning', 'Try again'], rows);
}

function records(document: OpenApiDocument): string {
  const requests = new Set(OPERATIONS.map(({ body }) => body?.name));
  const shown = Object.entries(document.components['schemas'] ?? {}).filter(([name]) => !requests.has(name));
  return shown
    .map(
      ([name, schema]) =>
        `<section><h3 id="${escape(name)}">${escape(name)}</h3>\n` +
        (typeof schema['description'] === 'string' ? `<p>${prose(schema['description'])}</p>` : '') +
        `\n${schemaTable(schema)}</section>`,
    )
    .join('\n');
}
