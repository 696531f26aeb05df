<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\ApiException;
use Millrace\Exception\BadBodyException;
use Millrace\Exception\CallException;
use Millrace\Exception\ConnectionException;
use Millrace\Exception\TimeoutException;

/**
 * One attempt: a request that curl sends, and its answer, which is read piece by piece within time limits.
 *
 * @internal
 */
final class Answer
{
    public const MAX_BYTES = 16 * 1024 * 1024;
    /** Curl wanted to send a body again. PHP has no name for this code. */
    private const SEND_FAIL_REWIND = 65;

    public int $status = 0;
    private ?\CurlMultiHandle $multi;
    private ?\CurlHandle $handle;
    private Headers $headers;
    /** @var array<string, string> of the headers that are arriving */
    private array $arriving = [];
    private string $received = '';
    private bool $hasEnded = false;
    private bool $isConnected = false;
    private ?CallException $failure = null;
    private readonly float $deadline;
    private readonly int $process;
    /** When something was sent or came, in monotonic seconds. */
    private float $movedAt;

    /**
     * @param float $limit seconds until the connection is open, and then until the answer begins
     * @param float $idle seconds between two pieces
     * @param float $total seconds in all
     */
    public function __construct(
        private readonly Transport $transport,
        private readonly Connections $connections,
        private readonly Request $request,
        private readonly float $limit,
        private readonly float $idle,
        float $total,
    ) {
        $this->movedAt = Transport::now();
        $this->deadline = $this->movedAt + $total;
        $this->headers = new Headers([], $transport->options);
        $this->handle = Curl::handle(
            $request,
            $transport->options,
            $this->header(...),
            $this->receive(...),
            $this->moved(...),
        );
        $this->multi = $connections->take();
        $this->process = getmypid();
        curl_multi_add_handle($this->multi, $this->handle);
    }

    /** Waits for the status and the headers. */
    public function begin(): void
    {
        // Headers that come a byte at a time must end, also those of a stream.
        $end = Transport::now() + 2 * $this->limit;
        while ($this->status === 0) {
            $this->advance(min($this->limit, max(0.0, $end - $this->movedAt)));
        }
        $this->transport->latest->response = $this->headers->describe($this->status);
    }

    /** @return \Generator<int, string> pieces of the body as they come */
    public function pieces(): \Generator
    {
        while (true) {
            while ($this->received === '' && !$this->hasEnded) {
                $this->advance($this->idle);
            }
            if ($this->received === '') {
                return;
            }
            $piece = $this->received;
            $this->received = '';
            yield $piece;
        }
    }

    /** The whole body. */
    public function body(): string
    {
        $body = '';
        foreach ($this->pieces() as $piece) {
            $body .= $piece;
            if (strlen($body) > self::MAX_BYTES) {
                throw $this->bad('the answer is larger than ' . self::MAX_BYTES . ' bytes');
            }
        }
        return $body;
    }

    public function requestId(): ?string
    {
        return $this->headers->requestId();
    }

    public function retryAfter(): ?float
    {
        return $this->headers->retryAfter();
    }

    public function refused(): ApiException
    {
        $body = $this->body();
        return Refusal::of($this->request->call, $this->status, $this->headers, $body, $this->transport->options);
    }

    public function bad(string $detail): BadBodyException
    {
        return BadBodyException::because($this->request->call, $detail, $this->status, $this->requestId());
    }

    /** Ends the request. The connection stays open when its answer was read to the end. */
    public function close(): void
    {
        if ($this->handle === null || $this->multi === null) {
            return;
        }
        if ($this->process === getmypid()) {
            curl_multi_remove_handle($this->multi, $this->handle);
        }
        $this->connections->giveBack($this->multi, $this->process);
        // The handle has callbacks of this object, and the object has the handle.
        $this->handle = $this->multi = null;
    }

    /** Sends and receives what can be, or waits a moment for more. */
    private function advance(float $limit): void
    {
        if ($this->failure !== null) {
            throw $this->failure;
        }
        $this->transport->checkCancelled($this->request);
        if ($this->process !== getmypid()) {
            throw ConnectionException::because($this->request->call, 'the process was forked');
        }
        $before = $this->movedAt;
        curl_multi_exec($this->multi, $running);
        while (($done = curl_multi_info_read($this->multi)) !== false) {
            $this->hasEnded = true;
            if ($done['result'] !== CURLE_OK) {
                $this->failure = $this->failed($done['result']);
            }
        }
        if (!$this->isConnected && curl_getinfo($this->handle, CURLINFO_PRETRANSFER_TIME_T) > 0) {
            $this->isConnected = true;
            $this->moved();
        }
        if ($this->hasEnded && $this->received === '' && ($this->failure !== null || $this->status === 0)) {
            throw $this->failure ?? ConnectionException::because($this->request->call, 'no answer came');
        }
        $now = Transport::now();
        $left = min($this->movedAt + $limit, $this->deadline) - $now;
        if ($left <= 0 && !$this->hasEnded) {
            throw TimeoutException::because($this->request->call, 'no answer in time');
        }
        if ($this->movedAt === $before && !$this->hasEnded && !Concurrent::yield()) {
            $wait = $this->transport->atMost($left);
            if (curl_multi_select($this->multi, $wait) < 1 && Transport::now() - $now < $wait / 2) {
                // There was nothing to wait for yet, such as during the lookup of a name.
                usleep(1_000);
            }
        }
    }

    private function failed(int $code): CallException
    {
        $call = $this->request->call;
        $detail = $code === self::SEND_FAIL_REWIND
            ? 'the connection was closed before the answer came'
            : (curl_error($this->handle) ?: (string) curl_strerror($code));
        $words = Redact::text($detail, $this->transport->options->apiKey());
        return match (true) {
            $code === CURLE_OPERATION_TIMEDOUT => TimeoutException::because($call, 'no answer in time'),
            $this->status !== 0 && $this->status < 300 => $this->bad("the answer broke off: {$words}"),
            default => ConnectionException::because($call, $words),
        };
    }

    /** One line of the headers. An interim answer (1xx) is followed by another. */
    private function header(\CurlHandle $handle, string $line): int
    {
        $this->moved();
        [$name, $value] = [...explode(':', $line, 2), null];
        if ($value !== null) {
            $this->arriving[strtolower($name)] = trim($value);
        } elseif (str_starts_with($line, 'HTTP/')) {
            $this->arriving = [];
        } elseif (trim($line) === '') {
            $status = curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
            if ($status >= 200 && $this->status === 0) {
                $this->status = $status;
                $this->headers = new Headers($this->arriving, $this->transport->options);
            }
        }
        return strlen($line);
    }

    private function receive(\CurlHandle $handle, string $piece): int
    {
        $this->moved();
        $this->received .= $piece;
        return strlen($piece);
    }

    private function moved(): void
    {
        $this->movedAt = Transport::now();
    }
}
