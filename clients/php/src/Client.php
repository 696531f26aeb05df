<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Calls\ClientCalls;
use Millrace\Exception\NoMatchException;
use Millrace\Exception\TimeoutException;
use Millrace\Internal\Answer;
use Millrace\Internal\Concurrent;
use Millrace\Internal\Json;
use Millrace\Internal\LineReader;
use Millrace\Internal\Options;
use Millrace\Internal\Request;
use Millrace\Internal\Transport;
use Millrace\Model\BulkEnrichment;
use Millrace\Model\Company;
use Millrace\Model\Contact;
use Millrace\Model\GraphQLResponse;
use Millrace\Model\Health;
use Millrace\Model\Person;
use Millrace\Model\RevealedContact;
use Millrace\Model\Signal;
use Millrace\Model\Verification;
use Millrace\Model\VerificationBatch;
use Millrace\Model\VerificationProgress;

/**
 * The data service: a method for each operation. It keeps its connections open and uses them again.
 *
 * Every call may throw an Exception\CallException.
 */
class Client
{
    use ClientCalls;

    public readonly Webhooks $webhooks;
    public readonly Batches $batches;
    private readonly Transport $transport;

    /**
     * @param ?string $apiKey else the environment variable `MILLRACE_API_KEY`
     * @param ?string $baseUrl the address before `/v1`; else the environment variable `MILLRACE_BASE_URL`
     * @param float $timeout seconds until a connection is open, until the answer begins, and between two pieces of it
     * @param int $maxAttempts attempts of one call, the first included
     * @param float $retryDelay seconds that the first pause between two attempts takes at most
     * @param bool $waitForRateLimit wait for the quota as long as the service says, up to 15 minutes a call
     * @param array<int, mixed> $curlOptions options of your own, such as `CURLOPT_PROXY` or `CURLOPT_CAINFO`
     */
    public function __construct(
        #[\SensitiveParameter] ?string $apiKey = null,
        ?string $baseUrl = null,
        float $timeout = 30.0,
        int $maxAttempts = 4,
        float $retryDelay = 0.5,
        bool $waitForRateLimit = false,
        #[\SensitiveParameter] array $curlOptions = [],
    ) {
        $this->use(new Transport(new Options(
            $apiKey ?? Options::setting('MILLRACE_API_KEY'),
            $baseUrl ?? Options::setting('MILLRACE_BASE_URL'),
            $timeout,
            $maxAttempts,
            $retryDelay,
            $waitForRateLimit,
            $curlOptions,
        )));
    }

    /**
     * The same client with the same connections, whose calls end with an AbortedException as soon as `isCancelled`
     * returns true. It is asked about twenty times a second, also during pauses.
     *
     * @param callable(): bool $isCancelled
     */
    public function withCancellation(callable $isCancelled): self
    {
        $client = (new \ReflectionClass(self::class))->newInstanceWithoutConstructor();
        $client->use($this->transport->withCancellation($isCancelled(...)));
        return $client;
    }

    /**
     * A client with the same connections, and a last answer of its own: for one call, or several.
     *
     * @param array<string, string>|null $headers sent beside those of the library, which win
     */
    public function withOptions(?float $timeout = null, ?int $maxAttempts = null, ?array $headers = null): self
    {
        $options = $this->transport->options->with($timeout, $maxAttempts, $headers);
        $client = (new \ReflectionClass(self::class))->newInstanceWithoutConstructor();
        $client->use($this->transport->withOptions($options));
        return $client;
    }

    /**
     * Makes calls at the same time: `concurrently([fn () => $client->verify('a@acme.example'), ...])`.
     *
     * @param iterable<array-key, \Closure(): mixed> $calls
     * @return array<array-key, mixed> the results by the keys of the calls; a call that failed has its CallException
     */
    public function concurrently(iterable $calls, int $atOnce = 20): array
    {
        return Concurrent::run($calls, $atOnce);
    }

    /** Quota, credits and request id of the last answer, also that of an error; null before the first. */
    public function lastResponse(): ?LastResponse
    {
        return $this->transport->lastResponse();
    }

    /** Returns the results of a verification, or its progress. */
    public function getVerification(string $id): VerificationBatch|VerificationProgress
    {
        return $this->poll(Request::get('/v1/emails/verify/' . rawurlencode($id)))[0];
    }

    /**
     * Waits for the results of a verification.
     *
     * @param ?float $timeout seconds; null waits without a limit
     * @throws TimeoutException when the time is over first
     */
    public function waitForVerification(string $id, ?float $timeout = null): VerificationBatch
    {
        $request = Request::get('/v1/emails/verify/' . rawurlencode($id));
        $deadline = Transport::now() + ($timeout ?? INF);
        while (true) {
            [$state, $pause] = $this->poll($request);
            if ($state instanceof VerificationBatch) {
                return $state;
            }
            if (Transport::now() + $pause > $deadline) {
                throw TimeoutException::because("verification {$id}", "it is not finished after {$timeout} seconds");
            }
            $this->transport->pause($request, $pause);
        }
    }

    /** Returns the company of a domain, or null when the service knows none. */
    public function company(string $domain): ?Company
    {
        return $this->lookup(Company::class, Request::get('/v1/companies/' . rawurlencode($domain)));
    }

    /**
     * Returns `data` and `errors` as they came: a field that fails throws nothing.
     *
     * @param array<string, mixed>|null $variables
     */
    public function graphql(
        string $query,
        ?array $variables = null,
        ?string $operationName = null,
        ?string $idempotencyKey = null,
    ): GraphQLResponse {
        $body = ['query' => $query, 'variables' => Json::object($variables), 'operationName' => $operationName];
        return $this->transport->record(GraphQLResponse::class, Request::post('/v1/graphql', $body, $idempotencyKey));
    }

    /** Says whether the service lives. */
    public function health(): Health
    {
        return $this->transport->record(Health::class, Request::get('/healthz'));
    }

    /** Says whether the service can work, and why not. */
    public function ready(): Health
    {
        return $this->transport->record(Health::class, new Request('GET', '/readyz', also: 503));
    }

    /**
     * Returns the OpenAPI document of the service.
     *
     * @return array<string, mixed>
     */
    public function openapi(): array
    {
        return $this->transport->call(Request::get('/openapi.json'), static fn (array $json): array => $json);
    }

    /** Ends the connections that no stream uses. A later call opens another one. */
    public function close(): void
    {
        $this->transport->close();
    }

    /** @return array<string, string> */
    public function __debugInfo(): array
    {
        return $this->transport->options->__debugInfo();
    }

    private function use(Transport $transport): void
    {
        $this->transport = $transport;
        $this->webhooks = new Webhooks($transport);
        $this->batches = new Batches($transport);
    }

    /** @param array<string, mixed> $params */
    private function enrichWith(array $params, ?string $idempotencyKey): ?Person
    {
        return $this->lookup(Person::class, Request::post('/v1/enrich', $params, $idempotencyKey));
    }

    /** @param array<string, mixed> $params */
    private function enrichBulkWith(array $params, ?string $idempotencyKey): BulkEnrichment
    {
        $request = Request::post('/v1/enrich/bulk', $params, $idempotencyKey);
        return $this->transport->record(BulkEnrichment::class, $request);
    }

    /** @param array<string, mixed> $params */
    private function revealWith(array $params, ?string $idempotencyKey): ?RevealedContact
    {
        return $this->lookup(RevealedContact::class, Request::post('/v1/contacts/reveal', $params, $idempotencyKey));
    }

    /** @param array<string, mixed> $params */
    private function verifyWith(array $params, ?string $idempotencyKey): Verification
    {
        return $this->verification(Verification::class, $params, $idempotencyKey);
    }

    /** @param array<string, mixed> $params */
    private function verifyBatchWith(array $params, ?string $idempotencyKey): VerificationBatch
    {
        return $this->verification(VerificationBatch::class, $params, $idempotencyKey);
    }

    /** @param array<string, mixed> $params */
    private function startVerificationWith(array $params, ?string $idempotencyKey): VerificationProgress
    {
        $headers = ['prefer' => 'respond-async'];
        return $this->verification(VerificationProgress::class, $params, $idempotencyKey, $headers);
    }

    /**
     * @param array<string, mixed> $filters
     * @return Pager<Contact>
     */
    private function searchContactsWith(array $filters): Pager
    {
        $page = static function (?string $cursor) use ($filters): Request {
            $params = array_replace($filters, ['cursor' => $cursor]);
            $request = Request::get('/v1/contacts/search', $params);
            return $request->hasLongQuery() ? Request::post('/v1/contacts/search', $params) : $request;
        };
        return $this->transport->pager(Contact::class, $page, $filters['cursor']);
    }

    /**
     * @param array<string, mixed> $filters
     * @return Pager<Signal>
     */
    private function signalsWith(array $filters): Pager
    {
        $page = static fn (?string $cursor): Request =>
            Request::get('/v1/signals', array_replace($filters, ['cursor' => $cursor]));
        return $this->transport->pager(Signal::class, $page, $filters['cursor']);
    }

    /**
     * @param array<string, mixed> $filters
     * @return \Generator<int, Signal>
     */
    private function exportSignalsWith(array $filters): \Generator
    {
        return LineReader::records($this->transport, Request::get('/v1/signals', $filters), Signal::class);
    }

    /** @param array<string, mixed> $filters */
    private function streamSignalsWith(array $filters, ?string $lastEventId): EventStream
    {
        return new EventStream($this->transport, Request::get('/v1/signals', $filters), $lastEventId);
    }

    /**
     * @template T of Record
     * @param class-string<T> $model
     * @return T|null
     */
    private function lookup(string $model, Request $request): ?Record
    {
        try {
            return $this->transport->record($model, $request);
        } catch (NoMatchException) {
            return null;
        }
    }

    /**
     * The time limit is longer for a verification that may take longer.
     *
     * @template T of Record
     * @param class-string<T> $model
     * @param array<string, mixed> $params
     * @param array<string, string> $headers
     * @return T
     */
    private function verification(string $model, array $params, ?string $idempotencyKey, array $headers = []): Record
    {
        $wanted = $params['timeout_ms'] ?? null;
        $limit = $wanted === null ? null : max($this->transport->options->timeout, $wanted / 1000 + 5);
        $request = new Request('POST', '/v1/emails/verify', [], $params, $headers, null, $idempotencyKey, $limit);
        return $this->transport->record($model, $request);
    }

    /** @return array{VerificationBatch|VerificationProgress, float} with the seconds to wait */
    private function poll(Request $request): array
    {
        $read = static fn (array $json, Answer $answer): array => $answer->status === 200
            ? [new VerificationBatch($json), 0.0]
            : [new VerificationProgress($json), min(60.0, max(1.0, $answer->retryAfter() ?? 1.0))];
        return $this->transport->call($request, $read);
    }
}
