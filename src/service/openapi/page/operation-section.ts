/** One operation of the reference. Pure. */
import { ERRORS, PROBLEM_TYPE } from '../../http/problem.ts';
import { exampleId, type OpenApiDocument } from '../document.ts';
import { exampleRequests, type ExampleRequest } from '../example-requests.ts';
import type { Operation } from '../../http/operation.ts';
import { problemsOf } from '../problems.ts';
import type { Schema } from '../../http/body-schema.ts';
import { escape, folded, prose, table } from '../../../util/html.ts';
import { schemaTable, typeText } from './schema-table.ts';

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

/** Longer lists are folded. */
const MANY = 12;

export function operationSection(operation: Operation, document: OpenApiDocument): string {
  const { id, method, path, summary, description, body } = operation;
  const described = document.paths[path]?.[method.toLowerCase()] ?? {};
  const words = `${id} ${method} ${path} ${summary} ${description}`.toLowerCase();
  const schema = body === undefined ? undefined : document.components['schemas']?.[body.name];
  return `<section id="${escape(id)}" data-words="${escape(words)}">
<h3><span class="method">${method}</span> <code>${escape(path)}</code></h3>
<p><strong>${escape(summary)}.</strong> ${prose(description)}</p>
${parameterTable((described['parameters'] ?? []) as readonly ParameterObject[])}
${schema === undefined ? '' : `<h4>Body</h4>${foldMany('Fields', Object.keys(schema['properties'] ?? {}).length, schemaTable(schema))}`}
${examples(operation, described)}
<h4>Answers</h4>
${answerTable(operation)}
</section>`;
}

function parameterTable(parameters: readonly ParameterObject[]): string {
  const rows = parameters.map(({ name, in: place, description, schema, example }) => [
    `<code>${escape(name)}</code>`,
    place,
    typeText(schema),
    `${prose(description)}${example === undefined ? '' : ` Such as <code>${escape(shown(example))}</code>.`}`,
  ]);
  return rows.length === 0
    ? ''
    : `<h4>Parameters</h4>${foldMany('Parameters', rows.length, table(['Name', 'In', 'Type', 'Meaning'], rows))}`;
}

/** A list of values as the query has it. */
function shown(example: unknown): string {
  return [example]
    .flat()
    .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
    .join(',');
}

function foldMany(name: string, count: number, content: string): string {
  return count > MANY ? folded(`${name}: ${count}`, content) : content;
}

function examples({ id }: Operation, described: Schema): string {
  const mine = exampleRequests().filter(({ operation }) => operation.id === id);
  if (mine.length === 0) return '';
  const { 200: found } = described['responses'] as Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>> }
    >
  >;
  const answers = found?.content?.['application/json']?.examples ?? {};
  const shown = mine.map((example) => {
    const name = Object.keys(answers).find((one) => exampleId(id, one) === example.id);
    const answer = name === undefined ? '' : folded('Answer', `<pre>${escape(JSON.stringify(answers[name]?.value, null, 2))}</pre>`);
    return `<p>${escape(example.summary)}:</p>${curlCommand(example)}${answer}`;
  });
  return `<h4>Examples</h4>${shown.join('\n')}`;
}

function answerTable(operation: Operation): string {
  const good = Object.entries(operation.answers).map(([status, { description, content = {}, headers = [] }]) => {
    const types = Object.entries(content).map(([media, schema]) => `${typeText(schema)} (<code>${escape(media)}</code>)`);
    const more = headers.length === 0 ? '' : ` With ${headers.map((name) => `<code>${escape(name)}</code>`).join(', ')}.`;
    return [status, types.join('<br>'), `${prose(description)}${more}`];
  });
  const problems = problemsOf(operation);
  const codes = problems.map((code) => `<a href="#error-${code}"><code>${code}</code></a>`).join(' ');
  const statuses = [...new Set(problems.map((code) => ERRORS[code].status))].join(', ');
  return table(
    ['Status', 'Body', 'Meaning'],
    [...good, [statuses, `<a href="#Problem">Problem</a> (<code>${PROBLEM_TYPE}</code>)`, codes]],
  );
}

/** An example as a command, in HTML. The origin has an element of its own, so that the page can put its own address there. */
function curlCommand({ operation, url, body }: ExampleRequest): string {
  const parts = [
    ...(operation.open === true ? [] : ["-H 'Authorization: Bearer sample-key'"]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ];
  const address = `curl '<span class="origin">http://127.0.0.1:8080</span>${escape(url)}'`;
  return `<pre>${[address, ...parts.map(escape)].join(' \\\n  ')}</pre>`;
}

/** One word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
