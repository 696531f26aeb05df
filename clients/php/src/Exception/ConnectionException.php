<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** No answer came: `network`. */
class ConnectionException extends CallException
{
    /** @internal */
    public static function because(string $call, string $detail): self
    {
        return new self("{$call}: {$detail} (network)", 'network', retryable: true);
    }
}
