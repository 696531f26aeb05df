/** Only the table of person fields decides where a field is imported and where it is answered. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exportCommand } from '../../../src/service/admin/export/export-command.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeStore, serveStore, temporaryFolder } from '../harness.ts';
import { load } from '../loading.ts';

const ADA = { id: 'pe_ada', email: 'ada@acme.example', name: 'Ada' };

it.each([
  ['headline', 'CTO at Acme'],
  ['github_url', 'https://code.example/ada'],
])('the field %s goes from an import to REST, search, GraphQL, export and the OpenAPI document', async (field, value) => {
  const store = await makeStore();
  const open = openStore(store);
  await load(open, [{ ...ADA, [field]: value }]);
  open.close();
  const service = await serveStore({ store });

  const enriched = await service.post('/v1/enrich', { id: ADA.id });
  const found = await service.post('/v1/contacts/search', { name: ADA.name });
  const asked = await service.post('/v1/graphql', { query: `mutation { enrich(id: "${ADA.id}") { ${field} } }` });
  expect([enriched.json[field], found.json, asked.json]).toMatchObject([
    value,
    { data: [{ [field]: value }] },
    { data: { enrich: { [field]: value } } },
  ]);

  const { json: document } = await service.request('/openapi.json');
  const { schemas } = document['components'] as { schemas: Record<string, { properties: object }> };
  for (const name of ['Person', 'Contact', 'RevealedContact']) expect(schemas[name]?.properties).toHaveProperty(field);
  await service.close();

  const path = join(await temporaryFolder(), 'people.jsonl');
  const output = { kind: 'contacts', path, format: 'jsonl', compression: 'none', tableRow: null } as const;
  await exportCommand({ store, outputs: [output], withSources: false, escapesFormulas: false }, new AbortController().signal);
  const exported = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(exported).toContainEqual(expect.objectContaining({ [field]: value }));
});
