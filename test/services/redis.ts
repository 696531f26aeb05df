/** A real Redis server, its data in a folder of its own. A tenth of a second to start, two seconds to install where it is not there. */
import { writeFile } from 'node:fs/promises';
import { CERTIFICATE, KEY } from './certificate.ts';
import { Daemons } from './daemons.ts';
import { lackingPackages } from './debian.ts';
import { freePort } from './free-port.ts';
import type { Service } from './services.ts';

/** The shared one, in memory alone. @returns why there is none, where it can be neither found nor installed */
export async function startRedis(): Promise<Service | string> {
  const lacking = await lackingPackages(['redis-server'], ['redis-server', 'setpriv']);
  if (lacking !== null) return lacking;
  const server = await RedisServer.start(['--appendonly', 'no', '--databases', '1000']);
  return { facts: { host: '127.0.0.1', port: String(server.port) }, end: () => server.end() };
}

/** One that a test may kill: what it has acknowledged is on the disk. */
export class RedisServer {
  readonly port: number;
  readonly #daemons: Daemons;
  readonly #more: readonly string[];

  private constructor(daemons: Daemons, port: number, more: readonly string[]) {
    this.#daemons = daemons;
    this.port = port;
    this.#more = more;
  }

  static async start(more: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always']): Promise<RedisServer> {
    return RedisServer.#startIn(await Daemons.make('redis'), await freePort(), more);
  }

  /** The same, encrypted alone. @returns also the file with its certificate */
  static async startEncrypted(more: readonly string[]): Promise<{ readonly server: RedisServer; readonly certificate: string }> {
    const [daemons, port] = [await Daemons.make('redis'), await freePort()];
    await writeFile(daemons.at('certificate.pem'), CERTIFICATE);
    await writeFile(daemons.at('key.pem'), KEY);
    const encrypted = ['--port', '0', '--tls-port', String(port), '--tls-cert-file', 'certificate.pem', '--tls-key-file', 'key.pem', '--tls-ca-cert-file', 'certificate.pem', '--tls-auth-clients', 'no'];
    return { server: await RedisServer.#startIn(daemons, port, [...more, ...encrypted]), certificate: daemons.at('certificate.pem') };
  }

  static async #startIn(daemons: Daemons, port: number, more: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(daemons, port, more);
    await server.startAgain();
    return server;
  }

  get uri(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  async startAgain(): Promise<void> {
    this.#daemons.start('redis', 'redis-server', ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#daemons.folder, '--save', '', ...this.#more]);
    await this.#daemons.listens('redis', this.port);
  }

  kill(): Promise<void> {
    return this.#daemons.kill('redis');
  }

  /** It takes connections and answers nobody. */
  pause(): void {
    this.#daemons.signal('redis', 'SIGSTOP');
  }

  end(): Promise<void> {
    return this.#daemons.end();
  }
}
