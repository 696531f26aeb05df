<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * The connections of a client. A curl multi handle keeps those of its requests open; each request has one to itself.
 *
 * @internal
 */
final class Connections
{
    /** @var list<\CurlMultiHandle> */
    private array $idle = [];
    /** @var list<\CurlMultiHandle> those of parents: to end one here would end it there too */
    private array $inherited = [];
    private int $process;

    public function __construct()
    {
        $this->process = getmypid();
    }

    public function take(): \CurlMultiHandle
    {
        if ($this->process !== getmypid()) {
            $this->process = getmypid();
            array_push($this->inherited, ...$this->idle);
            $this->idle = [];
        }
        return array_pop($this->idle) ?? curl_multi_init();
    }

    /** @param int $process that which took it */
    public function giveBack(\CurlMultiHandle $multi, int $process): void
    {
        if ($process === getmypid()) {
            $this->idle[] = $multi;
        } else {
            $this->inherited[] = $multi;
        }
    }

    public function close(): void
    {
        $this->idle = [];
    }
}
