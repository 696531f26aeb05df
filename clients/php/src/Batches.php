<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Calls\BatchCalls;
use Millrace\Enum\BatchFormat;
use Millrace\Enum\BatchState;
use Millrace\Exception\CallException;
use Millrace\Exception\TimeoutException;
use Millrace\Internal\LineReader;
use Millrace\Internal\Parts;
use Millrace\Internal\Request;
use Millrace\Internal\Transport;
use Millrace\Model\Batch;
use Millrace\Model\BatchLine;
use Millrace\Model\BatchPart;

/** `$client->batches`: jobs of up to ten million lines. */
class Batches
{
    use BatchCalls;

    private const SETTLED = [
        BatchState::COMPLETED,
        BatchState::FAILED,
        BatchState::CANCELLED,
        BatchState::EXPIRED,
        BatchState::PAUSED,
    ];
    private const TYPES = [BatchFormat::NDJSON => 'application/x-ndjson', BatchFormat::CSV => 'text/csv'];

    /** @internal */
    public function __construct(private readonly Transport $transport)
    {
    }

    /**
     * The jobs of the key, the newest first.
     *
     * @return Pager<Batch>
     */
    public function list(?int $limit = null): Pager
    {
        $page = static fn (?string $cursor): Request =>
            Request::get('/v1/batches', ['limit' => $limit, 'cursor' => $cursor]);
        return $this->transport->pager(Batch::class, $page);
    }

    public function get(string $id): Batch
    {
        return $this->transport->record(Batch::class, Request::get(self::path($id)));
    }

    /**
     * Uploads a part of whole lines, at most 64 MiB. The same number again replaces it.
     *
     * @param BatchFormat::*|string $format the format of the job
     */
    public function uploadPart(
        string $id,
        int $number,
        string $content,
        string $format = BatchFormat::NDJSON,
    ): BatchPart {
        $type = self::TYPES[$format] ?? throw new \InvalidArgumentException("format: {$format} is not known");
        $path = self::path($id) . "/parts/{$number}";
        $request = new Request('PUT', $path, headers: ['content-type' => $type], content: $content);
        return $this->transport->record(BatchPart::class, $request);
    }

    /** Says that all parts are there: the job begins. */
    public function complete(string $id, ?string $idempotencyKey = null): Batch
    {
        $request = Request::post(self::path($id) . '/complete', null, $idempotencyKey);
        return $this->transport->record(Batch::class, $request);
    }

    public function cancel(string $id, ?string $idempotencyKey = null): Batch
    {
        $request = Request::post(self::path($id) . '/cancel', null, $idempotencyKey);
        return $this->transport->record(Batch::class, $request);
    }

    /** Removes a job that has ended, with its results. */
    public function delete(string $id): void
    {
        $this->transport->send(new Request('DELETE', self::path($id)));
    }

    /**
     * Waits until the job has ended or is paused.
     *
     * @param ?float $timeout seconds; null waits without a limit
     * @throws TimeoutException when the time is over first
     */
    public function wait(string $id, ?float $timeout = null): Batch
    {
        $request = Request::get(self::path($id));
        $deadline = Transport::now() + ($timeout ?? INF);
        for ($pause = 1.0; true; $pause = min(10.0, $pause * 1.5)) {
            $batch = $this->transport->record(Batch::class, $request);
            if (in_array($batch->state, self::SETTLED, true)) {
                return $batch;
            }
            if (Transport::now() + $pause > $deadline) {
                throw TimeoutException::because("batch {$id}", "it is {$batch->state} after {$timeout} seconds");
            }
            $this->transport->pause($request, $pause);
        }
    }

    /**
     * The results in the order of the input: all, or those of a set. A stream that breaks off continues by itself.
     *
     * @param \Millrace\Enum\BatchLineStatus::*|string|null $set
     * @return \Generator<int, BatchLine>
     */
    public function results(string $id, ?string $set = null): \Generator
    {
        $request = Request::get(self::path($id) . '/results', ['set' => $set]);
        return LineReader::records(
            $this->transport,
            $request,
            BatchLine::class,
            static fn (BatchLine $line): int => $line->line ?? 0,
        );
    }

    /**
     * @param array<string, mixed> $params
     * @param ?iterable<array<string, mixed>|object|string> $lines
     * @param string|resource|null $file
     */
    private function createWith(array $params, ?iterable $lines, mixed $file, ?string $idempotencyKey): Batch
    {
        if ($lines !== null && $file !== null) {
            throw new \InvalidArgumentException('pass lines or file, not both');
        }
        $source = $file === null ? $lines : Parts::open($file);
        if ($file !== null && $params['format'] === null && Parts::isCsv($file)) {
            $params['format'] = BatchFormat::CSV;
        }
        $batch = $this->transport->record(Batch::class, Request::post('/v1/batches', $params, $idempotencyKey));
        if ($source === null) {
            return $batch;
        }
        try {
            $number = 0;
            foreach (Parts::cut($source, $batch->format === BatchFormat::CSV) as $part) {
                $this->uploadPart($batch->id, ++$number, $part, $batch->format);
            }
            return $this->complete($batch->id);
        } catch (CallException $failed) {
            $failed->batchId = $batch->id;
            throw $failed;
        }
    }

    /** @param array<string, mixed> $changes */
    private function updateWith(string $id, array $changes): Batch
    {
        return $this->transport->record(Batch::class, new Request('PATCH', self::path($id), body: $changes));
    }

    private static function path(string $id): string
    {
        return '/v1/batches/' . rawurlencode($id);
    }
}
