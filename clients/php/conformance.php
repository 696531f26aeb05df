<?php

/** The runner of the conformance suite: scenarios on standard input, a line of JSON for each on standard output. */

declare(strict_types=1);

use Millrace\Client;
use Millrace\EventStream;
use Millrace\Exception\CallException;
use Millrace\Exception\WebhookSignatureException;
use Millrace\Internal\Parts;
use Millrace\Internal\Transport;
use Millrace\LastResponse;
use Millrace\Page;
use Millrace\Record;
use Millrace\WebhookEvent;

require __DIR__ . '/autoload.php';

const AT_ONCE = 16;

// A warning or a notice is a mistake too.
set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

$tasks = json_decode(stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR)['scenarios'];
foreach (array_filter($tasks, static fn (array $task): bool => $task['alone']) as $task) {
    $before = memory('VmRSS');
    $outcomes = run($task);
    $after = memory('VmHWM');
    show($task, $outcomes, $before === null || $after === null ? null : $after - $before);
}
inParallel(array_filter($tasks, static fn (array $task): bool => !$task['alone']));

/** PHP has no threads: each scenario has a process. Without pcntl they run one after the other. */
function inParallel(array $tasks): void
{
    $running = 0;
    foreach ($tasks as $task) {
        if (!function_exists('pcntl_fork')) {
            show($task, run($task), null);
            continue;
        }
        if ($running++ >= AT_ONCE) {
            wait();
        }
        if (pcntl_fork() === 0) {
            show($task, run($task), null);
            exit(0);
        }
    }
    while ($running-- > 0 && wait()) {
        continue;
    }
}

function wait(): bool
{
    $child = function_exists('pcntl_wait') ? pcntl_wait($status) : -1;
    if ($child > 0 && $status !== 0) {
        exit(1);
    }
    return $child > 0;
}

/** A lock keeps the lines of several processes apart. */
function show(array $task, array $outcomes, ?float $mib): void
{
    $line = ['name' => $task['name'], 'variant' => $task['variant'], 'outcomes' => $outcomes, 'memory_mib' => $mib];
    $text = json_encode($line, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES) . "\n";
    $lock = fopen(__FILE__, 'rb');
    flock($lock, LOCK_EX);
    fwrite(STDOUT, $text);
    fclose($lock);
}

/** The steps of a scenario with one client. */
function run(array $task): array
{
    $client = new Client(...named(['api_key' => $task['api_key'], 'base_url' => $task['base_url']] + $task['options']));
    $outcomes = [];
    foreach ($task['steps'] as $step) {
        $args = resolve($step['args'] ?? [], $outcomes);
        $one = isset($step['with']) ? $client->withOptions(...named($step['with'])) : $client;
        for ($i = 0; $i < ($step['repeat'] ?? 1) && !isset($outcome['error']); $i++) {
            $outcome = outcomeOf($one, $step['call'], $args);
        }
        $outcomes[] = $outcome + ['last_response' => plain($one->lastResponse())];
        $outcome = null;
    }
    $client->close();
    return $outcomes;
}

function outcomeOf(Client $client, string $name, array $args): array
{
    try {
        return ['result' => plain(call($client, $name, $args))];
    } catch (CallException $failed) {
        return ['error' => [
            'message' => $failed->getMessage(),
            'code' => $failed->errorCode,
            'status' => $failed->status,
            'request_id' => $failed->requestId,
            'retryable' => $failed->retryable,
            'retry_after' => $failed->retryAfter,
            'errors' => $failed->errors,
            'attempts' => $failed->attempts,
        ]];
    } catch (InvalidArgumentException $failed) {
        return ['error' => ['code' => 'configuration', 'message' => $failed->getMessage()]];
    } catch (WebhookSignatureException $failed) {
        return ['error' => ['code' => 'signature', 'message' => $failed->getMessage()]];
    }
}

function call(Client $client, string $name, array $args): mixed
{
    $take = $args['take'] ?? PHP_INT_MAX;
    unset($args['take']);
    switch ($name) {
        case 'describe':
            return forms($client);
        case 'webhooks.create.describe':
            return forms($client->webhooks->create(...named($args)));
        case 'verify_webhook':
            return WebhookEvent::verify($args['body'], $args['headers'], $args['secrets']);
        case 'csv_records':
            return array_map(recordLengths(...), $args['texts']);
        case 'at_once':
            $one = static fn (): string => call($client, $args['call'], $args['args'])->name;
            $names = $client->concurrently(array_fill(0, $args['count'], $one), $args['count']);
            return array_values(array_unique($names));
        case 'forked':
            return forked($client, $args);
        case 'cancelled':
            $end = Transport::now() + $args['after'];
            $bound = $client->withCancellation(static fn (): bool => Transport::now() >= $end);
            return call($bound, $args['call'], $args['args']);
        case 'batches.create_big':
            return $client->batches->create(...named(['lines' => manyLines($args['lines'])] + $args));
        case 'batches.count_results':
            return counted($client->batches->results($args['id']));
        case 'search_contacts.pages':
            return taken($client->searchContacts(...named($args))->pages(), $take);
    }
    $path = explode('.', $name);
    $method = camel(array_pop($path));
    $target = $path === [] ? $client : $client->{$path[0]};
    $answer = $target->$method(...named($args));
    if ($answer instanceof EventStream) {
        $items = taken($answer, $take);
        return ['items' => array_map(plain(...), $items), 'last_event_id' => $answer->lastEventId()];
    }
    return $answer instanceof Traversable ? taken($answer, $take) : $answer;
}

/** @return list<int> */
function recordLengths(string $text): array
{
    $file = tmpfile();
    fwrite($file, $text);
    rewind($file);
    $lengths = [];
    foreach (Parts::fileLines($file, true) as $number => $record) {
        $content = preg_replace('/\r?\n$/D', '', $record);
        $content = $number === 0 ? preg_replace('/^\xEF\xBB\xBF/', '', $content) : $content;
        if (trim($content, " \t") !== '') {
            $lengths[] = strlen($content);
        }
    }
    return $lengths;
}

/** The different names that each child gets. */
function forked(Client $client, array $args): array
{
    $outputs = [];
    foreach ($args['each'] as $each) {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if (pcntl_fork() === 0) {
            $names = [];
            for ($i = 0; $i < $args['repeat']; $i++) {
                $names[] = call($client, $args['call'], $each)->name;
            }
            fwrite($theirs, json_encode(array_values(array_unique($names))));
            exit(0);
        }
        fclose($theirs);
        $outputs[] = $ours;
    }
    $found = array_map(static fn ($output): array => json_decode(stream_get_contents($output)), $outputs);
    foreach ($outputs as $_) {
        wait();
    }
    return $found;
}

/** @return Generator<int, array<string, string>> */
function manyLines(int $count): Generator
{
    for ($i = 0; $i < $count; $i++) {
        yield ['custom_id' => sprintf('%0200d', $i), 'email' => "person{$i}@nobody.example"];
    }
}

function counted(iterable $lines): array
{
    $count = $last = 0;
    foreach ($lines as $line) {
        $count++;
        $last = $line->line;
    }
    return ['count' => $count, 'last' => $last];
}

function taken(iterable $items, int $most): array
{
    $list = [];
    foreach ($items as $item) {
        $list[] = $item;
        if (count($list) === $most) {
            break;
        }
    }
    return $list;
}

/** Arguments by the names that PHP has for them. */
function named(array $args): array
{
    return array_combine(array_map(camel(...), array_keys($args)), $args);
}

function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** The JSON of a result. */
function plain(mixed $value): mixed
{
    return match (true) {
        $value instanceof Record => (object) $value->toArray(),
        $value instanceof Page => [
            'count' => count($value->data),
            'total' => $value->total,
            'next_cursor' => $value->nextCursor,
        ],
        $value instanceof LastResponse => [
            'status' => $value->status,
            'request_id' => $value->requestId,
            'credits_charged' => $value->creditsCharged,
            'replayed' => $value->replayed,
            'rate_limit' => $value->rateLimit,
        ],
        is_array($value) && array_is_list($value) => array_map(plain(...), $value),
        default => $value,
    };
}

/** `$0.id` is the id in the result of the first step. */
function resolve(mixed $value, array $outcomes): mixed
{
    if (is_array($value)) {
        return array_map(static fn (mixed $item): mixed => resolve($item, $outcomes), $value);
    }
    if (!is_string($value) || preg_match('/^\$(\d+)\.(.+)$/', $value, $found) !== 1) {
        return $value;
    }
    $at = $outcomes[(int) $found[1]]['result'];
    foreach (explode('.', $found[2]) as $part) {
        $at = ((array) $at)[$part];
    }
    return $at;
}

/** The textual forms that people print. */
function forms(object $value): string
{
    ob_start();
    var_dump($value);
    print_r($value);
    var_export($value);
    print_r((array) $value);
    echo json_encode($value, JSON_THROW_ON_ERROR);
    return ob_get_clean();
}

/** A line of /proc/self/status in MiB; null where there is none. */
function memory(string $field): ?float
{
    $status = is_readable('/proc/self/status') ? file_get_contents('/proc/self/status') : '';
    return preg_match("/^{$field}:\s+(\d+) kB/m", $status, $found) === 1 ? $found[1] / 1024 : null;
}
