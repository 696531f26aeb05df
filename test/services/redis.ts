/** A real Redis server with its data in its own folder. It takes a tenth of a second to start, and two seconds to install. */
import { writeFile } from 'node:fs/promises';
import { CERTIFICATE, KEY } from './certificate.ts';
import { Daemons, type Service } from './daemons.ts';
import { lackingPackages } from './debian.ts';
import { freePort } from './free-port.ts';

/** The shared server, in memory only. @returns the reason when it can be neither found nor installed */
export async function startRedis(): Promise<Service | string> {
  const lacking = await lackingPackages(['redis-server'], ['redis-server', 'setpriv']);
  if (lacking !== null) return lacking;
  const server = await RedisServer.start(['--appendonly', 'no', '--databases', '1000']);
  return { facts: { host: '127.0.0.1', port: String(server.port) }, end: () => server.end() };
}

/** A server that a test may kill. Acknowledged writes are on the disk. */
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

  /** A server with TLS only and the self-signed certificate. @returns also the certificate's file */
  static async startEncrypted(more: readonly string[]): Promise<{ readonly server: RedisServer; readonly certificate: string }> {
    const [daemons, port] = [await Daemons.make('redis'), await freePort()];
    await writeFile(daemons.at('certificate.pem'), CERTIFICATE);
    await writeFile(daemons.at('key.pem'), KEY);
    const encrypted = [
      '--port',
      '0',
      '--tls-port',
      String(port),
      '--tls-cert-file',
      'certificate.pem',
      '--tls-key-file',
      'key.pem',
      '--tls-ca-cert-file',
      'certificate.pem',
      '--tls-auth-clients',
      'no',
    ];
    return { server: await RedisServer.#startIn(daemons, port, [...more, ...encrypted]), certificate: daemons.at('certificate.pem') };
  }

  /**
   * A server with TLS that requires a client certificate of its authority. @returns also the folder with `ca.crt`, and `client` and
   * `stranger` with `.crt` and `.key`
   */
  static async startMutual(
    more: readonly string[] = ['--appendonly', 'no'],
  ): Promise<{ readonly server: RedisServer; readonly folder: string }> {
    const [daemons, port] = [await Daemons.make('redis'), await freePort()];
    const openssl = (command: string): Promise<string> => daemons.run('openssl', command.split(' '));
    const EC = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
    for (const name of ['ca', 'strangers']) await openssl(`req -x509 ${EC} -days 3 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`);
    for (const [name, authority] of [
      ['server', 'ca'],
      ['client', 'ca'],
      ['stranger', 'strangers'],
    ]) {
      await openssl(`req ${EC} -subj /CN=${name} -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ${name}.key -out ${name}.csr`);
      await openssl(
        `x509 -req -days 3 -in ${name}.csr -CA ${authority}.crt -CAkey ` +
          `${authority}.key -CAcreateserial -copy_extensions copy -out ${name}.crt`,
      );
    }
    const encrypted = [
      '--port',
      '0',
      '--tls-port',
      String(port),
      '--tls-cert-file',
      'server.crt',
      '--tls-key-file',
      'server.key',
      '--tls-ca-cert-file',
      'ca.crt',
      '--tls-auth-clients',
      'yes',
    ];
    return { server: await RedisServer.#startIn(daemons, port, [...more, ...encrypted]), folder: daemons.folder };
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
    this.#daemons.start('redis', 'redis-server', [
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--dir',
      this.#daemons.folder,
      '--save',
      '',
      ...this.#more,
    ]);
    await this.#daemons.listens('redis', this.port);
  }

  kill(): Promise<void> {
    return this.#daemons.kill('redis');
  }

  /** Stops the process: it accepts connections and answers none. */
  pause(): void {
    this.#daemons.signal('redis', 'SIGSTOP');
  }

  end(): Promise<void> {
    return this.#daemons.end();
  }
}
