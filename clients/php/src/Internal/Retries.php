<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\CallException;

/**
 * Counts the attempts of one call. Knows no clock.
 *
 * @internal
 */
final class Retries
{
    private const MAX_DELAY = 8.0;
    private const MAX_RETRY_AFTER = 60.0;
    private const MAX_RATE_LIMIT_WAIT = 900.0;

    public int $sent = 0;
    /** Attempts that count; a rate limit that is waited for does not. */
    private int $attempts = 0;
    private float $waited = 0.0;

    public function __construct(private readonly Options $options)
    {
    }

    /** A stream has brought something new. */
    public function restart(): void
    {
        $this->attempts = 0;
        $this->waited = 0.0;
    }

    /**
     * Returns the seconds to wait before the next attempt.
     *
     * @throws CallException the given one, when there is no next attempt
     */
    public function pauseAfter(CallException $failed): float
    {
        $failed->attempts = ++$this->sent;
        $asked = $failed->retryAfter ?? 0.0;
        if (!$failed->retryable) {
            throw $failed;
        }
        if ($this->options->waitForRateLimit && $failed->status === 429) {
            $pause = $this->longer($asked, $this->attempts + 1);
            $this->waited += $pause;
            return $this->waited > self::MAX_RATE_LIMIT_WAIT ? throw $failed : $pause;
        }
        if (++$this->attempts >= $this->options->maxAttempts || $asked > self::MAX_RETRY_AFTER) {
            throw $failed;
        }
        return $this->longer($asked, $this->attempts);
    }

    private function longer(float $asked, int $attempt): float
    {
        // Not mt_rand: processes that were forked draw the same numbers from it.
        $jitter = random_int(0, 1_000_000) / 1_000_000;
        $backoff = $jitter * min(self::MAX_DELAY, $this->options->retryDelay * 2 ** min($attempt - 1, 30));
        return max($backoff, $asked * (1 + $jitter / 10));
    }
}
