<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** The answer broke off, is too large, or is not the JSON that was promised: `bad_body`. */
final class BadBodyException extends CallException
{
    /** @internal */
    public static function because(string $call, string $detail, int $status, ?string $requestId = null): self
    {
        return new self("{$call}: {$detail} (bad_body, status {$status})", 'bad_body', $status, $requestId, true);
    }
}
