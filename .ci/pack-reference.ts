/**
 * Puts the script of the API reference into the build: Scalar's bundle, which its Fastify plugin serves. So the published package and the
 * image have it, and need none of Scalar's packages. Runs at the end of `npm run build`.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import { fastify } from 'fastify';

const FOLDER = join(import.meta.dirname, '../dist/reference');

const app = fastify();
await app.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { statusCode, payload } = await app.inject('/docs/js/scalar.js');
await app.close();
if (statusCode !== 200) throw new Error(`@scalar/fastify-api-reference answers ${statusCode} for its script`);

// Without its last line, which names a source map that is not served.
const script = payload.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
mkdirSync(FOLDER, { recursive: true });
writeFileSync(join(FOLDER, 'scalar.js.gz'), gzipSync(script, { level: constants.Z_BEST_COMPRESSION }));
copyFileSync(
  fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference').replace(/dist\/[^/]*$/, 'LICENSE')),
  join(FOLDER, 'LICENSE'),
);
