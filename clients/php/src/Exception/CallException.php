<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** A call that failed. `getCode()` is the HTTP status. */
abstract class CallException extends MillraceException
{
    /** Attempts of this call. */
    public int $attempts = 1;

    /** The job that stays open when the upload of its parts failed. */
    public ?string $batchId = null;

    /**
     * @internal
     * @param list<array<string, mixed>> $errors
     */
    final public function __construct(
        string $message,
        /**
         * The code of the service, or `network`, `timeout`, `bad_body`, `aborted`, `wrong_address`, `http_<status>`.
         *
         * @var \Millrace\Enum\ErrorCode::*|string
         */
        public readonly string $errorCode,
        /** The HTTP status; 0 without an answer. */
        public readonly int $status = 0,
        /** Give it to the support of the service. */
        public readonly ?string $requestId = null,
        /** Whether the same call may succeed later. */
        public readonly bool $retryable = false,
        /** Seconds that the service asked to wait; null when it did not say. */
        public readonly ?float $retryAfter = null,
        /** The mistakes and their places: `pointer` or `parameter`, `code`, `detail`. */
        public readonly array $errors = [],
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, $status, $previous);
    }
}
