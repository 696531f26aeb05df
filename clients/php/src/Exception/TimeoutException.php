<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** No answer came in time: `timeout`. */
final class TimeoutException extends ConnectionException
{
    /** @internal */
    public static function because(string $call, string $detail): self
    {
        return new self("{$call}: {$detail} (timeout)", 'timeout', retryable: true);
    }
}
