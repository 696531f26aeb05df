<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\LastResponse;

/**
 * The connections of a client. A curl multi handle keeps those of its requests open; each request has one to itself.
 *
 * @internal
 */
final class Connections
{
    /** @var list<\CurlMultiHandle> */
    private array $idle = [];

    public ?LastResponse $lastResponse = null;

    public function take(): \CurlMultiHandle
    {
        return array_pop($this->idle) ?? curl_multi_init();
    }

    public function giveBack(\CurlMultiHandle $multi): void
    {
        $this->idle[] = $multi;
    }

    public function close(): void
    {
        $this->idle = [];
    }
}
