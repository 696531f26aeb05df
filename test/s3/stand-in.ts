/**
 * An S3 server in this process, for tests that need hundreds of complete runs. It answers Millrace's requests as AWS does (API reference).
 * It does not check signatures; other tests show on a real server that they are valid.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Stored {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly modified: Date;
}

interface Upload {
  readonly key: string;
  readonly initiated: Date;
  readonly parts: Map<number, Buffer>;
}

/**
 * A fault of a request. `cut` and `stall`: the request is executed, and its answer ends or hangs half-way. `flip`: one bit of the answer's
 * body is flipped.
 */
export type Trouble = 'denied' | 'expired' | 'throttled' | 'cut' | 'stall' | 'flip';

export interface Requested {
  readonly method: string;
  /** Path and query, without parts that differ from run to run. */
  readonly name: string;
  /** From 1, counted since `requests` was emptied. */
  readonly number: number;
}

/** All objects and uploads. Keys begin with the bucket. */
export interface Contents {
  readonly objects: ReadonlyMap<string, Stored>;
  readonly uploads: ReadonlyMap<string, Upload>;
}

export class S3StandIn {
  url = '';
  /** The accepted key id. Null accepts any. */
  accepts: string | null = null;
  /** The answer to any other key id. */
  refusal: readonly [status: number, code: string] = [403, 'InvalidAccessKeyId'];
  onRefused: (keyId: string) => void = () => undefined;
  troubleFor: (request: Requested) => Trouble | null = () => null;
  readonly requests: Requested[] = [];
  #objects = new Map<string, Stored>();
  #uploads = new Map<string, Upload>();
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  static async start(): Promise<S3StandIn> {
    const one = new S3StandIn();
    one.#server.listen(0, '127.0.0.1');
    await once(one.#server, 'listening');
    one.url = `http://127.0.0.1:${(one.#server.address() as AddressInfo).port}`;
    return one;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get contents(): Contents {
    return { objects: new Map(this.#objects), uploads: new Map(this.#uploads) };
  }

  set contents({ objects, uploads }: Contents) {
    this.#objects = new Map(objects);
    this.#uploads = new Map(uploads);
  }

  put(name: string, body: string | Buffer): void {
    const bytes = Buffer.from(body);
    this.#objects.set(name, { bytes, etag: `"${md5(bytes)}"`, modified: new Date() });
  }

  get(name: string): Buffer | null {
    return this.#objects.get(name)?.bytes ?? null;
  }

  names(prefix = ''): string[] {
    return [...this.#objects.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const url = new URL(request.url ?? '', this.url);
    const requested = { method: request.method ?? '', name: `${request.method} ${nameOf(url)}`, number: this.requests.length + 1 };
    this.requests.push(requested);
    const carried = /Credential=([^/]+)\//.exec(request.headers.authorization ?? '')?.[1];
    if (this.accepts !== null && carried !== this.accepts) {
      this.onRefused(carried ?? '');
      return refuse(response, ...this.refusal, request.method);
    }
    const trouble = this.troubleFor(requested);
    const refusal = trouble === null ? undefined : REFUSALS[trouble];
    if (refusal !== undefined) return refuse(response, ...refusal, request.method);
    if (trouble !== null) spoil(response, trouble);
    const name = decodeURIComponent(url.pathname.slice(1));
    const query = url.searchParams;
    const { method, headers } = request;
    const body = Buffer.concat(chunks);
    if (query.has('list-type')) return this.#list(name, query.get('prefix') ?? '', response);
    if (query.has('uploads'))
      return method === 'POST' ? this.#begin(name, response) : this.#listUploads(name, query.get('prefix') ?? '', response);
    const id = query.get('uploadId');
    if (id !== null) return this.#upload(id, name, request, query, response);
    const found = this.#objects.get(name);
    switch (method) {
      case 'HEAD':
      case 'GET':
        return this.#send(found, request, response);
      case 'PUT': {
        if (headers['content-md5'] !== undefined && headers['content-md5'] !== createHash('md5').update(body).digest('base64'))
          return refuse(response, 400, 'BadDigest');
        const match = headers['if-match'];
        if (headers['if-none-match'] === '*' && found !== undefined) return refuse(response, 412, 'PreconditionFailed');
        if (match !== undefined && found === undefined) return refuse(response, 404, 'NoSuchKey');
        if (match !== undefined && found?.etag !== match) return refuse(response, 412, 'PreconditionFailed');
        this.put(name, body);
        return void response.writeHead(200, { etag: this.#objects.get(name)?.etag }).end();
      }
      case 'DELETE':
        this.#objects.delete(name);
        return void response.writeHead(204).end();
      default:
        refuse(response, 501, 'NotImplemented');
    }
  }

  #send(found: Stored | undefined, { method, headers }: IncomingMessage, response: ServerResponse): void {
    if (found === undefined) return refuse(response, 404, 'NoSuchKey', method);
    const { bytes, etag, modified } = found;
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag) return refuse(response, 412, 'PreconditionFailed', method);
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    const begin = Number(from);
    if (from !== '' && begin >= bytes.length) return refuse(response, 416, 'InvalidRange', method);
    const end = to === '' ? bytes.length : Math.min(bytes.length, Number(to) + 1);
    const range = from === '' ? {} : { 'content-range': `bytes ${begin}-${end - 1}/${bytes.length}` };
    response.writeHead(from === '' ? 200 : 206, { etag, 'last-modified': modified.toUTCString(), 'content-length': end - begin, ...range });
    response.end(method === 'HEAD' ? undefined : bytes.subarray(begin, end));
  }

  #list(bucket: string, prefix: string, response: ServerResponse): void {
    const keys = this.names(`${bucket.replace(/\/$/, '')}/${prefix}`);
    const contents = keys.map((name) => {
      const { bytes, etag, modified } = this.#objects.get(name) as Stored;
      const quotedEtag = etag.replaceAll('"', '&quot;');
      return (
        `<Contents><Key>${name.slice(name.indexOf('/') + 1)}</Key><Size>${bytes.length}</Size>` +
        `<ETag>${quotedEtag}</ETag><LastModified>${modified.toISOString()}</LastModified></Contents>`
      );
    });
    answer(response, `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`);
  }

  #begin(name: string, response: ServerResponse): void {
    const id = randomUUID();
    this.#uploads.set(id, { key: name, initiated: new Date(), parts: new Map() });
    answer(response, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }

  #listUploads(bucket: string, prefix: string, response: ServerResponse): void {
    const begun = [...this.#uploads].filter(([, { key }]) => key.startsWith(`${bucket.replace(/\/$/, '')}/${prefix}`));
    const uploads = begun.map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key.slice(key.indexOf('/') + 1)}</Key><UploadId>${id}</UploadId>` +
        `<Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    );
    answer(response, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`);
  }

  #upload(id: string, name: string, { method, headers }: IncomingMessage, query: URLSearchParams, response: ServerResponse): void {
    const upload = this.#uploads.get(id);
    if (upload === undefined) return refuse(response, 404, 'NoSuchUpload');
    switch (method) {
      case 'PUT': {
        const source = this.#objects.get(decodeURIComponent(String(headers['x-amz-copy-source'])));
        if (source === undefined) return refuse(response, 404, 'NoSuchKey');
        const [, from = '0', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'] ?? '')) ?? [];
        const bytes = source.bytes.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
        upload.parts.set(Number(query.get('partNumber')), bytes);
        return answer(response, `<CopyPartResult><ETag>&quot;${md5(bytes)}&quot;</ETag></CopyPartResult>`);
      }
      case 'POST': {
        const parts = [...upload.parts].sort(([one], [other]) => one - other).map(([, bytes]) => bytes);
        this.#uploads.delete(id);
        const etag = `"${createHash('md5')
          .update(Buffer.concat(parts.map((bytes) => Buffer.from(md5(bytes), 'hex'))))
          .digest('hex')}-${parts.length}"`;
        this.#objects.set(name, { bytes: Buffer.concat(parts), etag, modified: new Date() });
        return answer(
          response,
          `<CompleteMultipartUploadResult><ETag>${etag.replaceAll('"', '&quot;')}</ETag></CompleteMultipartUploadResult>`,
        );
      }
      case 'DELETE':
        this.#uploads.delete(id);
        return void response.writeHead(204).end();
      default: {
        const parts = [...upload.parts].map(
          ([number, bytes]) =>
            `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${md5(bytes)}&quot;</ETag><Size>${bytes.length}</Size></Part>`,
        );
        answer(response, `<ListPartsResult><IsTruncated>false</IsTruncated>${parts.join('')}</ListPartsResult>`);
      }
    }
  }
}

const REFUSALS: Partial<Record<Trouble, readonly [status: number, code: string]>> = {
  denied: [403, 'AccessDenied'],
  expired: [400, 'ExpiredToken'],
  throttled: [503, 'SlowDown'],
};

/** Runs and uploads have new names each time, so this replaces them. */
function nameOf({ pathname, search }: URL): string {
  return `${pathname}${search}`
    .replace(/\.partial\.[0-9a-f]{8}/, '.partial.RUN')
    .replace(/uploadId=[^&]*/, 'uploadId=ID')
    .replace(/ledger\/.*\.gz/, 'ledger/SEGMENT')
    .replace(/[?&]x-id=\w+/, '');
}

/** Sends the head of the answer completely, and breaks the body. */
function spoil(response: ServerResponse, trouble: Trouble): void {
  const end = response.end.bind(response) as (body?: string | Buffer) => ServerResponse;
  response.end = ((body?: string | Buffer) => {
    const bytes = Buffer.from(body ?? '');
    if (trouble === 'flip') {
      const at = bytes.length >> 1;
      if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ 1;
      return end(bytes);
    }
    const half = bytes.subarray(0, bytes.length >> 1);
    // An answer without a body is not sent at all.
    if (trouble === 'stall') return half.length > 0 ? response.write(half) : undefined;
    if (half.length > 0) response.write(half, () => response.socket?.destroy());
    else response.socket?.destroy();
    return response;
  }) as typeof response.end;
}

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function answer(response: ServerResponse, xml: string): void {
  const text = `<?xml version="1.0"?>${xml}`;
  response.writeHead(200, { 'content-type': 'application/xml', 'content-length': text.length }).end(text);
}

function refuse(response: ServerResponse, status: number, code: string, method?: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(method === 'HEAD' ? undefined : `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}
