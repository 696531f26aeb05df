/**
 * CPU of one call through a provider definition, beside the same request by the transport alone.
 * `node bench/declared.ts [calls]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseBaseUrl } from '../src/client/base-url.ts';
import { Redactor } from '../src/client/redactor.ts';
import { RotatingKey } from '../src/client/rotating-key.ts';
import { Transport } from '../src/client/transport.ts';
import { UndiciWire } from '../src/client/undici-wire.ts';
import { readQuotaHeaders } from '../src/client/quota/quota-headers.ts';
import { DeclaredClient } from '../src/providers/client/declared-client.ts';
import { compileProvider } from '../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../src/providers/definition/load-provider.ts';
import { machine } from './support/processes.ts';

/** Three rules, and a record of ten fields. */
const DEFINITION = `
name: bench
baseUrl: https://api.acme.example
authentication: {bearer: true}
operations:
  enrich:
    keys: [email]
    request: {path: "/people/{email}", query: {min_likelihood: min_likelihood}}
    answers: {wait: status = 429, match: status = 200 and body.data, miss: status = 404 and $exists(body.error)}
    record:
      email: body.data.mail
      name: body.data.full_name
      title: body.data.job_title
      mobile: body.data.mobile
      linkedin_url: body.data.linkedin
      seniority: body.data.level
      department: body.data.department
      verified: body.data.verified
      company: {name: body.data.company, domain: body.data.domain}
`;
const DATA = {
  mail: 'ana@acme.example',
  full_name: 'Ana Example',
  job_title: 'CTO',
  mobile: '+15550100',
  linkedin: 'linkedin.example/in/ana',
  level: 'c_suite',
  department: 'engineering',
  verified: true,
  company: 'Acme',
  domain: 'acme.example',
};
const CONNECTIONS = 64;
const ROUNDS = 5;
const KEY = 'key_0123456789';

if (process.send === undefined) await measure(Number(process.argv[2] ?? 20_000));
else await answer();

async function answer(): Promise<void> {
  const body = JSON.stringify({ data: DATA });
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

async function measure(calls: number): Promise<void> {
  const server = fork(import.meta.filename);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    const [port] = (await once(server, 'message')) as [number];
    const baseUrl = `http://127.0.0.1:${port}`;
    writeFileSync(join(folder, 'bench.yaml'), DEFINITION);
    const provider = compileProvider(await loadProvider(join(folder, 'bench.yaml')));
    const client = new DeclaredClient({ provider, baseUrl, apiKey: new RotatingKey(KEY), timeoutMs: 30_000, connections: CONNECTIONS });
    const wire = new UndiciWire(parseBaseUrl(baseUrl), { connections: CONNECTIONS });
    const transport = new Transport(wire, { timeoutMs: 30_000, redactor: new Redactor(KEY) });
    const headers = ['authorization', `Bearer ${KEY}`, 'accept', 'application/json', 'accept-encoding', 'identity'];
    const bare = async (index: number): Promise<void> => {
      const request = { method: 'GET', path: `/people/a${index}%40acme.example`, headers, body: null } as const;
      JSON.parse((await transport.send(request, { readQuota: readQuotaHeaders })).text);
    };
    const declared = async (index: number): Promise<void> => {
      const result = await client.callEnrich(client.enrichBody({ email: `a${index}@acme.example` }));
      if (result.kind !== 'ok') throw new Error(JSON.stringify(result));
    };
    const least = { bare: Infinity, declared: Infinity };
    for (let round = 0; round < ROUNDS; round++) {
      least.bare = Math.min(least.bare, await cpuOf(calls, bare));
      least.declared = Math.min(least.declared, await cpuOf(calls, declared));
    }
    await Promise.all([client.destroy(), transport.destroy()]);
    const more = least.declared - least.bare;
    process.stdout.write(
      `${calls.toLocaleString('en-US')} calls, the least of ${ROUNDS} rounds; ${machine()}\n\n` +
        '| CPU of one call | us |\n|---|---:|\n' +
        `| the transport alone, and the answer parsed | ${least.bare.toFixed(1)} |\n` +
        `| through a definition: three rules, a record of ten fields | ${least.declared.toFixed(1)} |\n` +
        `| more | ${more.toFixed(1)} |\n`,
    );
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

/** Microseconds of this process for each call. */
async function cpuOf(calls: number, call: (index: number) => Promise<void>): Promise<number> {
  let next = 0;
  const before = process.cpuUsage();
  const worker = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
