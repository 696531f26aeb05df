<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\CallException;

/**
 * Runs calls at once, each in a fiber that is suspended while it waits.
 *
 * @internal
 */
final class Concurrent
{
    private const POLL_MICROSECONDS = 1_000;

    /** @var \WeakMap<\Fiber<mixed, mixed, mixed, mixed>, true>|null */
    private static ?\WeakMap $own = null;

    /** Gives the other calls a turn. Returns false when none run at once. */
    public static function yield(): bool
    {
        $fiber = \Fiber::getCurrent();
        if ($fiber === null || !isset(self::$own[$fiber])) {
            return false;
        }
        \Fiber::suspend();
        return true;
    }

    /**
     * @param iterable<array-key, \Closure(): mixed> $calls
     * @return array<array-key, mixed> by the key of the call; a failed call has its exception
     */
    public static function run(iterable $calls, int $atOnce): array
    {
        self::$own ??= new \WeakMap();
        $results = $running = [];
        foreach ($calls as $key => $call) {
            $results[$key] = null;
            $running[$key] = new \Fiber(static fn (): mixed => self::outcome($call));
            self::$own[$running[$key]] = true;
            $running[$key]->start();
            while (count($running = self::left($running, $results)) >= $atOnce) {
                self::turn($running);
            }
        }
        while (($running = self::left($running, $results)) !== []) {
            self::turn($running);
        }
        return $results;
    }

    private static function outcome(\Closure $call): mixed
    {
        try {
            return $call();
        } catch (CallException $failed) {
            return $failed;
        }
    }

    /**
     * @param array<array-key, \Fiber<mixed, mixed, mixed, mixed>> $running
     * @param array<array-key, mixed> $results
     * @return array<array-key, \Fiber<mixed, mixed, mixed, mixed>> those that have not ended
     */
    private static function left(array $running, array &$results): array
    {
        foreach ($running as $key => $fiber) {
            if ($fiber->isTerminated()) {
                $results[$key] = $fiber->getReturn();
                unset($running[$key]);
            }
        }
        return $running;
    }

    /** @param array<array-key, \Fiber<mixed, mixed, mixed, mixed>> $running */
    private static function turn(array $running): void
    {
        usleep(self::POLL_MICROSECONDS);
        foreach ($running as $fiber) {
            $fiber->resume();
        }
    }
}
