<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\AbortedException;
use Millrace\Exception\CallException;
use Millrace\Exception\NotFoundException;
use Millrace\LastResponse;
use Millrace\Page;
use Millrace\Pager;
use Millrace\Record;

/**
 * Sends requests: attempts, pauses, and the reading of answers.
 *
 * @internal
 */
final readonly class Transport
{
    /** Seconds between two questions whether the caller has cancelled, and of a wait without that question. */
    private const CANCEL_INTERVAL = 0.05;
    private const LONGEST_WAIT = 1.0;

    public function __construct(
        public Options $options,
        private Connections $connections = new Connections(),
        private ?\Closure $isCancelled = null,
        public Latest $latest = new Latest(),
    ) {
    }

    public function withCancellation(\Closure $isCancelled): self
    {
        return new self($this->options, $this->connections, $isCancelled, $this->latest);
    }

    /** The same connections, with other options and a last answer of its own. */
    public function withOptions(Options $options): self
    {
        return new self($options, $this->connections, $this->isCancelled);
    }

    /** Monotonic seconds. */
    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    public function lastResponse(): ?LastResponse
    {
        return $this->latest->response;
    }

    public function close(): void
    {
        $this->connections->close();
    }

    /** A call without an answer to read. */
    public function send(Request $request): void
    {
        $this->call($request, null);
    }

    /**
     * @template T of Record
     * @param class-string<T> $model
     * @return T
     */
    public function record(string $model, Request $request): Record
    {
        return $this->call($request, static fn (array $json): Record => new $model($json));
    }

    /**
     * @template T of Record
     * @param class-string<T> $model
     * @param \Closure(?string): Request $page
     * @return Pager<T>
     */
    public function pager(string $model, \Closure $page, ?string $cursor = null): Pager
    {
        $read = static fn (array $json): Page => self::page($model, $json['data'] ?? null, $json['meta'] ?? []);
        return new Pager(fn (?string $cursor): Page => $this->call($page($cursor), $read), $cursor);
    }

    /**
     * Makes attempts until `read` accepts the JSON object of an answer.
     *
     * @template T
     * @param (\Closure(array<string, mixed>, Answer): T)|null $read null for a call without an answer to read
     * @return T
     * @throws CallException
     */
    public function call(Request $request, ?\Closure $read): mixed
    {
        $retries = new Retries($this->options);
        while (true) {
            try {
                return $this->attempt($request, $read);
            } catch (CallException $failed) {
                if ($failed instanceof NotFoundException && $request->method === 'DELETE' && $retries->sent > 0) {
                    return null;
                }
                $this->pause($request, $retries->pauseAfter($failed));
            }
        }
    }

    /** @throws AbortedException */
    public function pause(Request $request, float $seconds): void
    {
        $end = self::now() + $seconds;
        while (($left = $end - self::now()) > 0) {
            $this->checkCancelled($request);
            // A signal may end the sleep early.
            if (!Concurrent::yield()) {
                usleep((int) ceil(1e6 * $this->atMost($left)));
            }
        }
    }

    /** Seconds to wait before it is time to look around again. */
    public function atMost(float $seconds): float
    {
        return min($seconds, $this->isCancelled === null ? self::LONGEST_WAIT : self::CANCEL_INTERVAL);
    }

    /** @throws AbortedException */
    public function checkCancelled(Request $request): void
    {
        if ($this->isCancelled !== null && ($this->isCancelled)()) {
            throw AbortedException::of($request->call);
        }
    }

    /**
     * Makes one attempt at an answer that is read piece by piece. The caller closes it.
     *
     * @param ?float $idle seconds between two pieces
     * @throws CallException
     */
    public function stream(Request $request, ?float $idle = null): Answer
    {
        $limit = $this->options->timeout;
        return $this->open($request, $limit, $idle ?? $limit, INF);
    }

    private function attempt(Request $request, ?\Closure $read): mixed
    {
        $limit = $request->timeout ?? $this->options->timeout;
        $answer = $this->open($request, $limit, $limit, 2 * $limit);
        try {
            $body = $answer->body();
            return $read === null ? null : Json::read($body, $answer, $read);
        } finally {
            $answer->close();
        }
    }

    /**
     * @template T of Record
     * @param class-string<T> $model
     * @param array<mixed> $data
     * @param array<string, mixed> $meta
     * @return Page<T>
     */
    private static function page(string $model, array $data, array $meta): Page
    {
        return new Page($model::listFrom($data), $meta['next_cursor'] ?? null, $meta['total'] ?? null);
    }

    private function open(Request $request, float $limit, float $idle, float $total): Answer
    {
        $this->checkCancelled($request);
        $answer = new Answer($this, $this->connections, $request, $limit, $idle, $total);
        try {
            $answer->begin();
            if ($answer->status >= 300 && $answer->status !== $request->also) {
                throw $answer->refused();
            }
            return $answer;
        } catch (\Throwable $failed) {
            $answer->close();
            throw $failed;
        }
    }
}
