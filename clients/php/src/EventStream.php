<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Exception\BadBodyException;
use Millrace\Exception\CallException;
use Millrace\Internal\EventReader;
use Millrace\Internal\Json;
use Millrace\Internal\Request;
use Millrace\Internal\Retries;
use Millrace\Internal\Transport;
use Millrace\Model\Signal;

/**
 * Signals as they become known, without an end. It connects again by itself, behind the last signal.
 *
 * Leaving the loop closes the connection. Iterating again continues behind the last signal.
 *
 * @implements \IteratorAggregate<int, Signal>
 */
final class EventStream implements \IteratorAggregate
{
    /** Seconds without any byte: the service sends a heartbeat every 15. */
    private const HEARTBEATS_MISSED = 45.0;

    /** @internal */
    public function __construct(
        private readonly Transport $transport,
        private readonly Request $request,
        private ?string $lastEventId,
    ) {
    }

    /** The id of the last signal that was returned. Give it to a later stream to continue behind it. */
    public function lastEventId(): ?string
    {
        return $this->lastEventId;
    }

    /** @return \Generator<int, Signal> */
    public function getIterator(): \Generator
    {
        $retries = new Retries($this->transport->options);
        for ($number = 0; true;) {
            $headers = ['accept' => 'text/event-stream'];
            if ($this->lastEventId !== null) {
                $headers['last-event-id'] = $this->lastEventId;
            }
            $request = $this->request->with($headers);
            try {
                foreach ($this->connect($request) as $id => $signal) {
                    $this->lastEventId = $id ?? $this->lastEventId;
                    $retries->restart();
                    yield $number++ => $signal;
                }
            } catch (CallException $failed) {
                $this->transport->pause($request, $retries->pauseAfter($failed));
            }
        }
    }

    /** @return \Generator<?string, Signal> by id */
    private function connect(Request $request): \Generator
    {
        $answer = $this->transport->stream($request, max(self::HEARTBEATS_MISSED, $this->transport->options->timeout));
        try {
            $events = new EventReader($answer);
            foreach ($answer->pieces() as $piece) {
                foreach ($events->feed($piece) as $id => $data) {
                    yield $id => Json::record(Signal::class, $data, $answer);
                }
            }
            throw BadBodyException::because($request->call, 'the stream ended', $answer->status, $answer->requestId());
        } finally {
            $answer->close();
        }
    }
}
