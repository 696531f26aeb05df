<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** The caller cancelled: `aborted`. */
final class AbortedException extends CallException
{
    /** @internal */
    public static function of(string $call): self
    {
        return new self("{$call}: cancelled (aborted)", 'aborted');
    }
}
