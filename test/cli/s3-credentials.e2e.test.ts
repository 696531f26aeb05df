/** S3 credentials that are replaced during a run, in each place that the SDK reads. */
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { s3Environment } from '../s3/bucket.ts';
import { S3StandIn } from '../s3/stand-in.ts';
import type { Folder } from '../support/cli.ts';
import { makeWorld } from '../support/world.ts';

const INPUT = `email\n${Array.from({ length: 40 }, (_, i) => `person${i}@works.example\n`).join('')}`;
/** A late expiry, so the SDK itself does not refresh. */
const EXPIRES = '2099-01-01T00:00:00Z';

let s3: S3StandIn;
beforeAll(async () => {
  s3 = await S3StandIn.start();
});
afterAll(() => s3.stop());
beforeEach(() => {
  s3.contents = { objects: new Map(), uploads: new Map() };
  s3.onRefused = () => undefined;
  s3.put('bucket/in.csv', INPUT);
  s3.accepts = 'FIRST';
});

/** A source of credentials: its environment, and a function that replaces the credentials. */
type Source = (folder: Folder) => Promise<{ readonly env: Record<string, string>; readonly replace: (keyId: string) => Promise<void> }>;

const NO_KEYS = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };

async function replaced(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

const SOURCES: Record<string, Source> = {
  'a credentials file': async (folder) => {
    const replace = (id: string): Promise<void> =>
      replaced(folder.at('credentials'), `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret-of-${id}\n`);
    return { env: { ...NO_KEYS, AWS_SHARED_CREDENTIALS_FILE: folder.at('credentials') }, replace };
  },
  'a process': async (folder) => {
    await writeFile(folder.at('config'), `[default]\ncredential_process = cat ${folder.at('process.json')}\n`);
    const replace = (id: string): Promise<void> =>
      replaced(
        folder.at('process.json'),
        JSON.stringify({ Version: 1, AccessKeyId: id, SecretAccessKey: `secret-of-${id}`, SessionToken: 'token', Expiration: EXPIRES }),
      );
    return { env: { ...NO_KEYS, AWS_CONFIG_FILE: folder.at('config') }, replace };
  },
  "a container's endpoint": async () => {
    let keyId = '';
    const endpoint = createServer(
      (_request, response) =>
        void response.end(
          JSON.stringify({ AccessKeyId: keyId, SecretAccessKey: `secret-of-${keyId}`, Token: 'token', Expiration: EXPIRES }),
        ),
    );
    endpoint.listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
    onTestFinished(() => void endpoint.close());
    return {
      env: { ...NO_KEYS, AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/` },
      replace: async (id) => {
        keyId = id;
      },
    };
  },
};

test.each(Object.entries(SOURCES))('credentials of %s are read again when S3 refuses them, twice in one run', async (_name, source) => {
  const { folder, service, args } = await makeWorld();
  const { env, replace } = await source(folder);
  await replace('FIRST');
  s3.refusal = [400, 'ExpiredToken'];
  service.script = ({ number }, _response, reply, usual) => {
    if (number === 10) s3.accepts = 'SECOND';
    if (number === 30) {
      s3.accepts = 'THIRD';
      s3.refusal = [403, 'InvalidAccessKeyId'];
    }
    if (number === 10 || number === 30) void replace(s3.accepts ?? '').then(() => reply(usual()));
    else reply(usual());
  };
  const run = await folder.run(args({ input: 's3://bucket/in.csv', output: 's3://bucket/out.csv', steps: 'enrich', concurrency: '1' }), {
    env: { ...s3Environment({}, s3.url), ...env },
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(
    String(s3.get('bucket/out.csv'))
      .split('\n')
      .filter((line) => line.startsWith('person')),
  ).toHaveLength(40);
});

test('a credentials file that is half written at that moment is read again', async () => {
  const { folder, service, args } = await makeWorld();
  const { env, replace } = await (SOURCES['a credentials file'] as Source)(folder);
  await replace('FIRST');
  s3.refusal = [403, 'InvalidAccessKeyId'];
  service.script = ({ number }, _response, reply, usual) => {
    if (number !== 20) return reply(usual());
    s3.accepts = 'SECOND';
    void replace('SECO').then(() => reply(usual()));
  };
  // A request with half of the name is refused once more. The rest of the file exists by then.
  const refused = new Promise<void>((resolve) => {
    s3.onRefused = (keyId) => {
      if (keyId !== 'SECO') return;
      s3.onRefused = () => undefined;
      void replace('SECOND').then(resolve);
    };
  });
  const run = await folder.run(args({ input: 's3://bucket/in.csv', output: 's3://bucket/out.csv', steps: 'enrich', concurrency: '1' }), {
    env: { ...s3Environment({}, s3.url), ...env },
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  await refused;
});

test('refused credentials of the environment or an unchanged file are 77 with the remedy; the same command continues', async () => {
  const { folder, service, args } = await makeWorld();
  const { env, replace } = await (SOURCES['a credentials file'] as Source)(folder);
  await replace('FIRST');
  s3.refusal = [400, 'ExpiredToken'];
  service.script = ({ number }, _response, reply, usual) => {
    if (number === 10) s3.accepts = 'SECOND';
    reply(usual());
  };
  const command = args({ input: 's3://bucket/in.csv', output: 's3://bucket/out.csv', ledger: 'ledger', steps: 'enrich', concurrency: '1' });
  for (const more of [env, { AWS_ACCESS_KEY_ID: 'FIRST', AWS_SECRET_ACCESS_KEY: 'secret' }]) {
    expect(await folder.run(command, { env: { ...s3Environment({}, s3.url), ...more } })).toMatchObject({
      code: 77,
      stderr: expect.stringMatching(/no valid credentials for s3:\/\/bucket\/.*ExpiredToken[^]*AWS_PROFILE/),
    });
  }
  await replace('SECOND');
  expect(await folder.run(command, { env: { ...s3Environment({}, s3.url), ...env } })).toMatchObject({ code: 0 });
});
