<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\CallException;
use Millrace\Record;

/**
 * Cuts pieces of any length into lines, without their ends, and without empty ones.
 *
 * @internal
 */
final class LineReader
{
    private string $rest = '';

    public function __construct(private readonly Answer $answer)
    {
    }

    /**
     * The lines of an NDJSON answer as records.
     *
     * @template T of Record
     * @param class-string<T> $model
     * @param (\Closure(T): int)|null $number counts a line: with it a broken stream continues behind the last one
     * @return \Generator<int, T>
     */
    public static function records(
        Transport $transport,
        Request $request,
        string $model,
        ?\Closure $number = null,
    ): \Generator {
        $request = $request->with(['accept' => 'application/x-ndjson']);
        $retries = new Retries($transport->options);
        $last = $count = 0;
        while (true) {
            try {
                foreach (self::read($transport, $request) as $answer => $line) {
                    $record = Json::record($model, $line, $answer);
                    if ($number !== null) {
                        if ($number($record) <= $last) {
                            continue;
                        }
                        $last = $number($record);
                    }
                    $retries->restart();
                    yield $count++ => $record;
                }
                return;
            } catch (CallException $failed) {
                if ($count > 0 && $number === null) {
                    throw $failed;
                }
                $transport->pause($request, $retries->pauseAfter($failed));
            }
        }
    }

    /** @return \Generator<Answer, string> one attempt */
    private static function read(Transport $transport, Request $request): \Generator
    {
        $answer = $transport->stream($request);
        try {
            $reader = new self($answer);
            foreach ($answer->pieces() as $piece) {
                foreach ($reader->feed($piece) as $line) {
                    yield $answer => $line;
                }
            }
            if (trim($reader->rest) !== '') {
                yield $answer => $reader->rest;
            }
        } finally {
            $answer->close();
        }
    }

    /** @return \Generator<int, string> */
    private function feed(string $piece): \Generator
    {
        $lines = explode("\n", $this->rest . $piece);
        $this->rest = array_pop($lines);
        foreach ($lines as $line) {
            if (trim($line) !== '') {
                yield $line;
            }
        }
        if (strlen($this->rest) > Answer::MAX_BYTES) {
            throw $this->answer->bad('a line is longer than ' . Answer::MAX_BYTES . ' bytes');
        }
    }
}
