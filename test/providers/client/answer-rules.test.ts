/** The meaning of an answer, by rules and by its status. */
import { describe, expect, it } from 'vitest';
import { serve, serveCanned, serveRaw, answer, type Canned } from '../../client/servers.ts';
import { declaredClient, type OperationText } from './declared.ts';

const BODY = '{"email":"ana@acme.example"}';
const JSON_TYPE = 'content-type: application/json\r\n';

async function resultOf(canned: Omit<Canned, 'body'> & { body?: unknown }, enrich: OperationText = {}): Promise<unknown> {
  const { body } = canned;
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const client = declaredClient(await serveCanned({ ...canned, ...(text === undefined ? {} : { body: text }) } as Canned), {
    operations: { enrich },
  });
  return client.callEnrich(BODY);
}

describe('a rule that is true decides', () => {
  const ok = { status: 200, body: { name: 'Ana', error: { type: 'too odd', message: 'Not\nthis one' } } };
  const words = { code: 'body.error.type', message: 'body.error.message' };

  it.each([
    ['suppressed', { kind: 'suppressed' }],
    ['wait', { kind: 'throttled', retryAfterMs: null }],
    ['outOfCredits', { kind: 'denied', code: 'out_of_credits', detail: 'too_odd: Not this one' }],
    ['denied', { kind: 'denied', code: 'too_odd', detail: 'Not this one', keyVersion: 1 }],
    ['match', { kind: 'ok', value: { record: { name: 'Ana' } } }],
    ['miss', { kind: 'miss' }],
    ['refused', { kind: 'rejected', code: 'too_odd', detail: 'Not this one' }],
    ['retry', { kind: 'retryable', code: 'too_odd', detail: 'Not this one', retryAfterMs: null }],
  ] as const)('%s, of a 200', async (rule, expected) => {
    expect(await resultOf(ok, { answers: { [rule]: 'status = 200', ...words } })).toMatchObject(expected);
  });

  it('the words of a refusal are found by their usual names', async () => {
    expect(await resultOf(ok, { answers: { refused: 'status = 200' } })).toMatchObject({ code: 'http_200', detail: 'Not this one' });
    expect(await resultOf({ status: 400 }, { answers: { refused: 'true' } })).toMatchObject({ code: 'http_400', detail: 'HTTP 400' });
  });

  it('out of credits names no key that could be read again', async () => {
    expect(await resultOf({ status: 403, body: {} }, { answers: { outOfCredits: 'true' } })).not.toHaveProperty('keyVersion');
  });

  it('the first in the order of the rules, whatever the order of the definition is', async () => {
    const order = ['suppressed', 'wait', 'outOfCredits', 'denied', 'match', 'miss', 'refused', 'retry'] as const;
    const kinds = ['suppressed', 'throttled', 'denied', 'denied', 'ok', 'miss', 'rejected', 'retryable'];
    for (const [index] of order.entries()) {
      const answers = Object.fromEntries(
        order
          .slice(index)
          .toReversed()
          .map((rule) => [rule, 'true']),
      );
      expect(await resultOf({ status: 200, body: { name: 'Ana' } }, { answers })).toMatchObject({ kind: kinds[index] });
    }
  });

  it('a match of an error status is one', async () => {
    expect(await resultOf({ status: 404, body: { name: 'Ana' } }, { answers: { match: '$exists(body.name)' } })).toMatchObject({
      kind: 'ok',
    });
  });

  it('the status, the headers and the body can be asked for', async () => {
    const answers = { match: 'status = 207 and headers.`x-found` = "yes" and body.data' };
    const canned = { status: 207, headers: { 'X-Found': 'yes' }, body: { data: { a: 1 }, name: 'Ana' } };
    expect(await resultOf(canned, { answers })).toMatchObject({ kind: 'ok' });
    expect(await resultOf({ ...canned, body: { data: {} } }, { answers })).toMatchObject({ kind: 'rejected', code: 'bad_shape' });
  });

  it('a success that is neither a match nor a miss is refused, where the definition has rules for both', async () => {
    const answers = { match: '$exists(body.person)', miss: 'body.person = null' };
    const moved = { status: 200, body: { name: 'Ana', human: {} } };
    expect(await resultOf(moved, { answers })).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: 'operations.enrich.answers: this 200 is neither a match nor a miss',
    });
    expect(await resultOf({ status: 404, body: {} }, { answers })).toMatchObject({ kind: 'retryable' });
  });

  it('text of an error that is no JSON can be asked for', async () => {
    const canned = { status: 404, headers: { 'content-type': 'text/plain' }, body: 'no such person' };
    expect(await resultOf(canned, { answers: { miss: 'body = "no such person"' } })).toMatchObject({ kind: 'miss' });
  });

  it.each([
    ['null', 'null'],
    ['nothing', 'body.none'],
    ['an empty list', '[]'],
    ['an empty object', '{}'],
  ])('%s is false', async (_what, rule) => {
    expect(await resultOf({ status: 200, body: {} }, { answers: { refused: rule } })).toMatchObject({ kind: 'miss' });
  });

  it.each([
    ['text', "'status = 200'", 'operations.enrich.answers.miss: expected true or false, got text'],
    ['a number', 'status', 'operations.enrich.answers.miss: expected true or false, got the number 200'],
  ])('%s is neither true nor false, and refuses the record', async (_what, rule, detail) => {
    expect(await resultOf({ status: 200, body: { name: 'Ana' } }, { answers: { miss: rule } })).toMatchObject({
      kind: 'rejected',
      code: 'bad_mapping',
      detail,
      meta: { status: 200 },
    });
  });

  it.each([
    ['throws', '$number(body.name)'],
    ['runs for ever', '($f := function($n) { $f($n + 1) }; $f(1))'],
    ['makes a list without end', '[1..1e9]'],
  ])('a rule that %s refuses the record, and names its key', async (_what, rule) => {
    expect(await resultOf({ status: 200, body: { name: 'Ana' } }, { answers: { retry: rule } })).toMatchObject({
      kind: 'rejected',
      code: 'bad_mapping',
      detail: expect.stringContaining('operations.enrich.answers.retry') as string,
    });
  });
});

describe('without a true rule', () => {
  it.each([
    [200, { name: 'Ana' }, { kind: 'ok', value: { record: { name: 'Ana' }, text: '{"name":"Ana"}' } }],
    [206, { name: 'Ana' }, { kind: 'ok' }],
    [200, { name: null }, { kind: 'miss' }],
    [200, [], { kind: 'miss' }],
    [204, undefined, { kind: 'miss' }],
    [404, { error: 'x' }, { kind: 'miss' }],
    [400, { error: { code: 'bad_email', message: 'Bad' } }, { kind: 'rejected', code: 'bad_email', detail: 'Bad' }],
    [401, {}, { kind: 'denied', code: 'http_401', keyVersion: 1 }],
    [402, {}, { kind: 'denied', code: 'http_402' }],
    [429, {}, { kind: 'throttled', retryAfterMs: null }],
    [451, {}, { kind: 'suppressed' }],
    [500, {}, { kind: 'retryable', code: 'http_500' }],
    [302, {}, { kind: 'wrong_address' }],
  ])('a %i with %j means the same as of the specification', async (status, body, expected) => {
    expect(await resultOf({ status, body }, { answers: { refused: 'false' } })).toMatchObject(expected);
  });

  it('the words of the definition replace those with usual names', async () => {
    const canned = { status: 422, body: { code: 'usual', message: 'Usual.', fault: { id: 1_007, text: 'Odd.' } } };
    const answers = { code: 'body.fault.id', message: 'body.fault.text' };
    expect(await resultOf(canned, { answers })).toMatchObject({ kind: 'rejected', code: 'error_1007', detail: 'Odd.' });
    expect(await resultOf(canned, {})).toMatchObject({ kind: 'rejected', code: 'usual', detail: 'Usual.' });
  });

  it('words that cannot be read are found by their usual names', async () => {
    const canned = { status: 422, body: { code: 'usual', message: 'Usual.' } };
    const answers = { code: '$number("x")', message: 'body.none' };
    expect(await resultOf(canned, { answers })).toMatchObject({ code: 'usual', detail: 'Usual.' });
  });

  it('a message is one line, and not longer than people read', async () => {
    const canned = { status: 400, body: { m: `a\u0000b\n${'x'.repeat(100_000)}` } };
    const result = (await resultOf(canned, { answers: { message: 'body.m' } })) as { detail: string };
    expect(result.detail).toMatch(/^a b x+…$/);
    expect(result.detail.length).toBeLessThanOrEqual(300);
  });
});

describe('a wait', () => {
  it.each([
    ['seconds of the definition', 'body.left', { left: 12.5 }, {}, 12_500],
    ['seconds as text', 'body.left', { left: '3' }, {}, 3_000],
    ['Retry-After, where the mapping finds nothing', 'body.none', {}, { 'retry-after': '7' }, 7_000],
    ['Retry-After, where the mapping throws', '$number("x")', {}, { 'retry-after': '7' }, 7_000],
    ['Retry-After, where the mapping gives less than nothing', '-1', {}, { 'retry-after': '7' }, 7_000],
    ['nothing, where nobody says', 'body.none', {}, {}, null],
  ])('a wait is %s', async (_what, waitSeconds, body, headers, retryAfterMs) => {
    const canned = { status: 429, headers: headers as Record<string, string>, body };
    expect(await resultOf(canned, { answers: { wait: 'status = 429', waitSeconds } })).toMatchObject({ kind: 'throttled', retryAfterMs });
    expect(await resultOf(canned, { answers: { waitSeconds } })).toMatchObject({ kind: 'throttled', retryAfterMs });
    expect(await resultOf(canned, { answers: { retry: 'true', waitSeconds } })).toMatchObject({ kind: 'retryable', retryAfterMs });
  });
});

describe('an answer that comes from something else than the provider', () => {
  const rules = { match: 'status = 200', miss: 'status = 404 or status = 200', refused: 'true' };

  it.each([
    ['an HTML page', '<!doctype html><title>Log in</title>', 'text/html', 'the answer is an HTML page'],
    ['an HTML page that calls itself JSON', '<html>', 'application/json', 'the answer is an HTML page'],
    ['text', 'hello', 'text/plain', 'the answer is not JSON'],
    ['nothing', '', 'application/json', 'the answer is empty'],
    ['half of an answer', '{"name":', 'application/json', 'the answer is not JSON'],
  ])('%s as a success is worth another attempt, whatever the rules say', async (_what, body, type, detail) => {
    const canned = { status: 200, headers: { 'content-type': type }, body };
    expect(await resultOf(canned, { answers: rules })).toMatchObject({ kind: 'retryable', code: 'bad_body', detail });
  });

  it('an answer that the rule for matches does not take is unfit, with a rule for misses and without one', async () => {
    const suspended = { status: 200, body: { name: 'Ana', status: 'suspended' } };
    for (const answers of [{ match: "body.status = 'ok'" }, { match: "body.status = 'ok'", miss: "body.status = 'unknown'" }]) {
      const result = await resultOf(suspended, { answers });
      expect(result).toMatchObject({ kind: 'rejected', code: 'bad_shape', detail: expect.stringContaining('neither a match nor a miss') });
      expect(result).toHaveProperty('stored', expect.stringMatching(/"judged":false.*"body":\{"name":"Ana","status":"suspended"\}/));
    }
  });

  it('an answer without a record that the only rule, for misses, does not take is unfit', async () => {
    const answers = { miss: "body.status = 'unknown'" };
    expect(await resultOf({ status: 200, body: { name: 'Ana' } }, { answers })).toMatchObject({ kind: 'ok' });
    expect(await resultOf({ status: 200, body: { status: 'unknown' } }, { answers })).toMatchObject({ kind: 'miss' });
    expect(await resultOf({ status: 200, body: { status: 'maintenance' } }, { answers, record: '{"name": body.name}' })).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
    });
  });

  it('a 404 beside a rule for misses that does not take it is tried again, and is no miss', async () => {
    const answers = { miss: "status = 404 and body.status = 'unknown'" };
    expect(await resultOf({ status: 404, body: { status: 'unknown' } }, { answers })).toMatchObject({ kind: 'miss' });
    expect(await resultOf({ status: 404, body: { error: 'no Route matched' } }, { answers })).toMatchObject({ kind: 'retryable' });
    expect(await resultOf({ status: 404, body: {} }, { answers: { miss: 'status = 200' } })).toMatchObject({ kind: 'retryable' });
    expect(await resultOf({ status: 404, body: {} }, { answers: { match: 'status = 200' } })).toMatchObject({ kind: 'miss' });
  });

  it('an HTML page as a 404 is a wrong address, and no miss', async () => {
    const canned = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html><title>404</title></html>' };
    expect(await resultOf(canned, { answers: rules })).toMatchObject({ kind: 'wrong_address' });
  });

  it('an answer that breaks off is worth another attempt', async () => {
    const url = await serveRaw((socket) => socket.end(`HTTP/1.1 200 OK\r\n${JSON_TYPE}content-length: 500\r\n\r\n{"name":"Ana"`));
    const client = declaredClient(url, { operations: { enrich: { answers: rules } } });
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
  });

  it('an answer that is too large is worth another attempt', async () => {
    const url = await serveCanned({ status: 200, body: JSON.stringify({ name: 'x'.repeat(10_000) }) });
    const client = declaredClient(url, { operations: { enrich: {} } }, { maxResponseBytes: 1_000 });
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'retryable', code: 'bad_body' });
  });

  it('a provider that is not there is worth another attempt', async () => {
    const client = declaredClient('http://127.0.0.1:1', { operations: { enrich: { answers: rules } } });
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
  });
});

describe('credits', () => {
  const canned = { status: 200, headers: { 'x-credits-charged': '4' }, body: { name: 'Ana', spent: 2 } };

  it.each([
    ['those of the mapping', 'body.spent', 2],
    ['none, where the mapping finds nothing', 'body.none', 0],
    ['the most, where the mapping throws', '$number("x")', 9],
    ['the most, where the mapping gives text', '"two"', 9],
    ['the most, where the mapping gives less than nothing', '-1', 9],
    ['those of the usual header, without a mapping', undefined, 4],
  ])('credits are %s', async (_what, credits, expected) => {
    const enrich = { creditsAtMost: 9, ...(credits === undefined ? {} : { credits }) };
    expect(await resultOf(canned, enrich)).toMatchObject({ kind: 'ok', meta: { credits: expected } });
  });

  it('credits of an answer without a record are counted as well', async () => {
    expect(await resultOf({ status: 404, body: {} }, { credits: '1' })).toMatchObject({ kind: 'miss', meta: { credits: 1 } });
    expect(await resultOf({ status: 200, body: { name: 1 } }, { credits: '1' })).toMatchObject({ code: 'bad_shape', meta: { credits: 1 } });
  });
});

describe('a pending answer', () => {
  const poll = { ticket: 'body.id', request: { path: '/jobs/{ticket}', query: { e: 'email' } }, everyMs: 2_000, longestMs: 9_000 };

  it('a pending answer is asked for again with its ticket, and then answered', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(request.url ?? '');
      const last = seen.length === 3;
      answer(response, { status: last ? 200 : 202, body: JSON.stringify(last ? { name: 'Ana' } : seen.length === 1 ? { id: 'j/1' } : {}) });
    });
    const client = declaredClient(url, {
      operations: { enrich: { request: { path: '/{email}' }, answers: { pending: 'status = 202' }, poll } },
    });
    const first = await client.callEnrich(BODY);
    expect(first).toMatchObject({ kind: 'pending', ticket: 'j/1', afterMs: 2_000, longestMs: 9_000, meta: { status: 202 } });
    const second = await client.callEnrich(BODY, { ticket: 'j/1' });
    // The later answer does not name the promise again.
    expect(second).toMatchObject({ kind: 'pending', ticket: 'j/1' });
    expect(await client.callEnrich(BODY, { ticket: 'j/1' })).toMatchObject({ kind: 'ok' });
    expect(seen).toEqual(['/ana%40acme.example', '/jobs/j%2F1?e=ana%40acme.example', '/jobs/j%2F1?e=ana%40acme.example']);
  });

  /** The results of polls: `later` is a pending answer, `gateway` and `usual` are 404s of two forms. */
  async function pollsWith(answers: readonly string[], rules: object = {}): Promise<unknown[]> {
    let polls = -1;
    const url = await serve((_request, response) => {
      const said = ++polls === 0 ? 'promise' : answers[polls - 1];
      if (said === 'promise') answer(response, { status: 202, body: '{"id":"j1"}' });
      else if (said === 'later') answer(response, { status: 202, body: '{}' });
      else answer(response, { status: 404, body: said === 'gateway' ? '{"message":"no Route matched"}' : '{"error":"unknown job"}' });
    });
    const client = declaredClient(url, {
      operations: { enrich: { request: { path: '/{email}' }, answers: { pending: 'status = 202', ...rules }, poll } },
    });
    await client.callEnrich(BODY);
    const said: unknown[] = [];
    for (const _ of answers) {
      const result = await client.callEnrich(BODY, { ticket: 'j1' });
      said.push(result.kind === 'pending' ? `pending ${result.afterMs}` : 'code' in result ? result.code : result.kind);
    }
    return said;
  }

  it.each([
    [
      'one 404 of a gateway keeps the promise, which is asked for again after 30 s',
      ['gateway', 'later'],
      {},
      ['pending 30000', 'pending 2000'],
    ],
    ['a second 404 in a row means that the ticket is lost', ['gateway', 'usual'], {}, ['pending 30000', 'ticket_lost']],
    [
      '404s with another answer between them keep it',
      ['gateway', 'later', 'usual'],
      {},
      ['pending 30000', 'pending 2000', 'pending 30000'],
    ],
    [
      'two 404s of one form show how the provider says so',
      ['usual', 'usual', 'usual'],
      {},
      ['pending 30000', 'ticket_lost', 'ticket_lost'],
    ],
    [
      'a rule for a miss by the status alone waits for a second 404',
      ['gateway', 'usual'],
      { miss: 'status = 404' },
      ['pending 30000', 'miss'],
    ],
    ['a rule that names the body decides at once', ['usual'], { miss: "body.error = 'unknown job'" }, ['miss']],
    ['so does a rule that refuses it', ['usual'], { refused: 'status = 404' }, ['http_404']],
  ])('a poll and its 404s: %s', async (_what, answers, rules, said) => {
    expect(await pollsWith(answers, rules)).toEqual(said);
  });

  it('waits longer where the provider asks for it', async () => {
    const canned = { status: 202, headers: { 'retry-after': '60' }, body: { id: 7 } };
    expect(await resultOf(canned, { answers: { pending: 'status = 202' }, poll })).toMatchObject({ ticket: '7', afterMs: 60_000 });
  });

  it('without a ticket is asked for with the same request', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(request.url ?? '');
      answer(response, { status: 202 });
    });
    const client = declaredClient(url, {
      operations: { enrich: { request: { path: '/{email}' }, answers: { pending: 'status = 202' }, poll: {} } },
    });
    const first = await client.callEnrich(BODY);
    if (first.kind !== 'pending') throw new Error(first.kind);
    expect(first.ticket).not.toBe('');
    expect(await client.callEnrich(BODY, { ticket: first.ticket })).toMatchObject({ kind: 'pending', ticket: first.ticket });
    expect(seen).toEqual(['/ana%40acme.example', '/ana%40acme.example']);
  });

  it.each([
    ['nothing', {}, 'nothing'],
    ['an object', { id: {} }, 'an object'],
  ])('a pending answer that names its promise by %s is refused', async (_what, body, got) => {
    expect(await resultOf({ status: 202, body }, { answers: { pending: 'status = 202' }, poll })).toMatchObject({
      kind: 'rejected',
      code: 'bad_shape',
      detail: `operations.enrich.poll.ticket: expected text or a number, got ${got}`,
    });
  });
});

describe('the client', () => {
  it('never rejects, whatever the cancelled call was', async () => {
    const client = declaredClient(await serve(() => {}), { operations: { enrich: {} } });
    const abort = new AbortController();
    const call = client.callEnrich(BODY, { signal: abort.signal });
    abort.abort();
    expect(await call).toMatchObject({ kind: 'retryable', code: 'aborted' });
    await client.close();
    expect(await client.callEnrich(BODY)).toMatchObject({ kind: 'retryable', code: 'aborted' });
  });
});
