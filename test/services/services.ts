/**
 * Servers that tests share. Each starts when the first test asks for it, and ends with the run. Test processes ask the main process over a
 * loopback port, because each would otherwise start its own.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import type { Service } from './daemons.ts';
import { startRadosgw } from './radosgw.ts';
import { startRedis } from './redis.ts';

/** Starts each service by name; it returns the reason when it cannot start. */
const SERVICES: Readonly<Record<string, () => Promise<Service | string>>> = {
  s3: startRadosgw,
  redis: startRedis,
};

declare module 'vitest' {
  export interface ProvidedContext {
    readonly servicesUrl: string;
  }
}

/** Global set-up of Vitest: listens for the tests, and returns a function that ends every server. */
export default async function serveServices(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<Service | string>>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const name = (request.url ?? '').slice(1);
    let service = started.get(name);
    if (service === undefined) {
      service = startNamed(name);
      started.set(name, service);
    }
    const found = await service;
    response.end(JSON.stringify(typeof found === 'string' ? { lacking: found } : { facts: found.facts }));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('servicesUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.closeAllConnections();
    server.close();
    for (const service of started.values()) {
      const found = await service;
      if (typeof found !== 'string') await found.end();
    }
  };
}

async function startNamed(name: string): Promise<Service | string> {
  try {
    return (await SERVICES[name]?.()) ?? `no service is called ${name}`;
  } catch (error) {
    return `it does not start: ${error instanceof Error ? error.message : String(error)}`;
  }
}
