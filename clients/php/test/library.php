<?php

/** Tests of the library without a service: `php test/library.php` prints a line for each that fails. */

declare(strict_types=1);

use Millrace\Client;
use Millrace\Enum\Verdict;
use Millrace\Exception\AbortedException;
use Millrace\Exception\ApiException;
use Millrace\Exception\BadBodyException;
use Millrace\Exception\CallException;
use Millrace\Exception\WebhookSignatureException;
use Millrace\Internal\Headers;
use Millrace\Internal\Json;
use Millrace\Internal\Options;
use Millrace\Internal\Parts;
use Millrace\Internal\Request;
use Millrace\Internal\Retries;
use Millrace\Internal\Transport;
use Millrace\Model\Batch;
use Millrace\Model\Company;
use Millrace\Model\Person;
use Millrace\Model\SignalData;
use Millrace\Model\Verification;
use Millrace\Model\WebhookWithSecret;
use Millrace\WebhookEvent;

require __DIR__ . '/../autoload.php';

const KEY = 'key-of-the-tests';
const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS10ZXN0cw==';

function same(mixed $wanted, mixed $got): void
{
    if ($wanted !== $got) {
        throw new LogicException('expected ' . var_export($wanted, true) . ', got ' . var_export($got, true));
    }
}

/** Everything that people print of a value. */
function printed(mixed $value): string
{
    ob_start();
    var_dump($value);
    print_r($value);
    var_export($value);
    print_r((array) $value);
    echo json_encode($value);
    return ob_get_clean();
}

/** @param class-string<Throwable> $type */
function thrown(string $type, Closure $call): Throwable
{
    try {
        $call();
    } catch (Throwable $failed) {
        if ($failed instanceof $type) {
            return $failed;
        }
        throw $failed;
    }
    throw new LogicException("expected {$type}");
}

/** @return array<string, string> the headers of a delivery that is signed now */
function signed(string $body, string $secret = SECRET, ?int $at = null): array
{
    $at ??= time();
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $signature = base64_encode(hash_hmac('sha256', "msg_1.{$at}.{$body}", $key, true));
    return ['webhook-id' => 'msg_1', 'webhook-timestamp' => (string) $at, 'webhook-signature' => "v1,{$signature}"];
}

$options = new Options(KEY, 'http://127.0.0.1:9', retryDelay: 0.0);

$tests = [
    'every class can be loaded, and every type that it names exists' => static function (): void {
        $files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator(__DIR__ . '/../src'));
        $unknown = $count = 0;
        foreach ($files as $file) {
            if ($file->getExtension() !== 'php') {
                continue;
            }
            $text = file_get_contents($file->getPathname());
            preg_match('/^namespace (.+);$/m', $text, $namespace);
            $name = $namespace[1] . '\\' . $file->getBasename('.php');
            $count += (int) (class_exists($name) || trait_exists($name));
            preg_match_all('/^use (Millrace[\w\\\\]*);$/m', $text, $uses);
            foreach ($uses[1] as $used) {
                $short = substr(strrchr($used, '\\'), 1);
                $isFolder = is_dir(dirname($file->getPath()) . "/{$short}");
                $isThere = class_exists($used) || trait_exists($used) || $isFolder;
                $unknown += (int) !($isThere && preg_match_all("/\\b{$short}\\b/", $text) > 1);
            }
        }
        same(0, $unknown);
        same(true, $count > 100);
    },

    'a client shows no key, whatever prints it' => static function (): void {
        $client = new Client(KEY, 'http://127.0.0.1:9', curlOptions: [CURLOPT_PROXY => 'http://u:pw-of-proxy@p']);
        $bound = $client->withCancellation(static fn (): bool => false);
        $text = printed($client) . printed($client->webhooks) . printed($bound);
        same(false, str_contains($text, KEY) || str_contains($text, 'pw-of-proxy'));
        same(true, str_contains($text, '[redacted]'));
        thrown(Exception::class, static fn () => serialize($client));
        ini_set('zend.exception_ignore_args', '0');
        $failed = thrown(InvalidArgumentException::class, static fn () => new Client(KEY . ' ', 'http://127.0.0.1:9'));
        same(false, str_contains(printed($failed->getTrace()) . $failed, KEY));
        $alone = new Client(KEY, 'http://127.0.0.1:9', maxAttempts: 1);
        $failed = thrown(CallException::class, static fn () => $alone->health());
        same(false, str_contains(print_r($failed, true) . $failed, KEY));
    },

    'a secret can be read, and is not printed' => static function (): void {
        $webhook = new WebhookWithSecret(['id' => 'wh_1', 'secret' => SECRET, 'filter' => []]);
        same(SECRET, $webhook->secret);
        same(SECRET, $webhook['secret']);
        same(SECRET, $webhook->toArray()['secret']);
        same(true, isset($webhook->secret));
        same(false, isset($webhook->other));
        same(false, str_contains(printed($webhook), SECRET));
        same('{"id":"wh_1","secret":"[redacted]","filter":[]}', json_encode($webhook));
        same(null, (new WebhookWithSecret([]))->secret);
    },

    'a record keeps what it does not know, and does not change' => static function (): void {
        $person = new Person(['name' => 'Ana', 'moons' => 2, 'company' => ['name' => 'Acme', 'employees' => 5]]);
        same(['Ana', 2, 5, null], [$person->name, $person['moons'], $person->company->employees, $person->title]);
        same([true, false], [isset($person['moons']), isset($person['suns'])]);
        same('{"name":"Ana","moons":2,"company":{"name":"Acme","employees":5}}', json_encode($person));
        same('{}', json_encode(new Company([])));
        same('sideways', (new Verification(['result' => 'sideways']))->result);
        same(Verdict::RISKY, (new Verification(['result' => 'risky']))->result);
        same('Acme', (new SignalData(['from' => 'Acme', 'to' => ['title' => 'CTO']]))->from);
        same('CTO', (new SignalData(['from' => 'Acme', 'to' => ['title' => 'CTO']]))->to->title);
        thrown(Error::class, static fn () => $person->name = 'Bea');
        thrown(LogicException::class, static function () use ($person): void {
            $person['moons'] = 3;
        });
    },

    'a query has a parameter for each item, and no null' => static function (): void {
        $query = ['country' => ['FR', 'D E'], 'has_email' => true, 'limit' => 5, 'sort' => null, 'near' => '1,2;é'];
        same('country=FR&country=D%20E&has_email=true&limit=5&near=1%2C2%3B%C3%A9', Request::get('/x', $query)->query);
        same(null, Request::get('/x')->content);
        $post = Request::post('/x', ['a' => null, 'b' => Json::object([]), 'c' => []]);
        same('{"b":{},"c":[]}', $post->content);
        $key = $post->headers['idempotency-key'];
        same(1, preg_match('/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/', $key));
        same(false, $key === Request::post('/x', null)->headers['idempotency-key']);
        same('{}', Request::post('/x', [])->content);
        thrown(InvalidArgumentException::class, static fn () => Request::post('/x', ['a' => "\xff"]));
    },

    'pauses grow to eight seconds, and the attempts are counted' => static function (): void {
        $retries = new Retries(new Options(KEY, 'http://127.0.0.1:9', maxAttempts: 9, retryDelay: 1.0));
        $failed = static fn (): ApiException => new ApiException('no', 'overloaded', 503, retryable: true);
        for ($attempt = 1; $attempt < 9; $attempt++) {
            $pause = $retries->pauseAfter($failed());
            same(true, $pause >= 0 && $pause <= min(8, 2 ** ($attempt - 1)));
        }
        $last = $failed();
        same($last, thrown(ApiException::class, static fn () => $retries->pauseAfter($last)));
        same(9, $last->attempts);
        $retries->restart();
        $asked = $retries->pauseAfter(new ApiException('no', 'overloaded', 503, retryable: true, retryAfter: 20.0));
        same(true, $asked >= 20 && $asked <= 22);
    },

    'a cancelled call ends during a pause, and before it is sent' => static function () use ($options): void {
        $questions = 0;
        $isCancelled = static function () use (&$questions): bool {
            return ++$questions === 3;
        };
        $transport = (new Transport($options))->withCancellation($isCancelled);
        thrown(AbortedException::class, static fn () => $transport->pause(Request::get('/x'), 20.0));
        same(3, $questions);
        $client = (new Client(KEY, 'http://127.0.0.1:9'))->withCancellation(static fn (): bool => true);
        same('aborted', thrown(AbortedException::class, $client->health(...))->errorCode);
    },

    'Retry-After is a number of seconds or a date' => static function () use ($options): void {
        $read = static fn (string $value, string $date = ''): ?float
            => (new Headers(['retry-after' => $value, 'date' => $date], $options))->retryAfter();
        $date = 'Mon, 02 Jan 2006 15:04:05 GMT';
        same([1.5, 0.0, null, null], [$read('1.5'), $read('0'), $read('soon'), $read('-1')]);
        same([null, null], [$read('tomorrow'), $read('1e3')]);
        same(60.0, $read('Mon, 02 Jan 2006 15:05:05 GMT', $date));
        same(60.0, $read('Monday, 02-Jan-06 15:05:05 GMT', $date));
        same(0.0, $read('Sun, 01 Jan 2006 15:05:05 GMT', $date));
    },

    'parts have whole lines and at most 4 MiB, unless one line is longer' => static function (): void {
        $long = str_repeat('x', 5 * 1024 * 1024);
        $lines = [['custom_id' => 'é/1'], new ArrayObject(['b' => 1]), "text", "end\n", $long, 'after'];
        $parts = iterator_to_array(Parts::cut($lines, false));
        same(["{\"custom_id\":\"é/1\"}\n{\"b\":1}\ntext\nend\n", "{$long}\n", "after\n"], $parts);
        same([], iterator_to_array(Parts::cut([], false)));
    },

    'a file is cut at line ends, and a line of CSV ends outside quotes' => static function (): void {
        $row = '1,"' . str_repeat("two\nlines \"\"quoted\"\"\n", 2_500) . '"' . "\r\n";
        foreach ([str_repeat($row, 150) . 'last', '', "one\n"] as $text) {
            $file = tmpfile();
            fwrite($file, $text);
            rewind($file);
            $parts = iterator_to_array(Parts::cut($file, true));
            same($text === '' || str_ends_with($text, "\n") ? $text : "{$text}\n", implode('', $parts));
            foreach ($parts as $part) {
                same([true, 0], [strlen($part) <= 4 * 1024 * 1024, substr_count($part, '"') % 2]);
                same(true, str_ends_with($part, "\r\n") || str_ends_with($part, "last\n") || $part === "one\n");
            }
        }
        same([true, false, true], [Parts::isCsv('/a/B.CSV'), Parts::isCsv('a.ndjson'), Parts::isCsv('leads.csv')]);
        thrown(InvalidArgumentException::class, static fn () => Parts::open('/no/such/file.csv'));
    },

    'lines with a file, and an unknown format, are refused before any call' => static function (): void {
        $batches = (new Client(KEY, 'http://127.0.0.1:9'))->batches;
        thrown(InvalidArgumentException::class, static fn () => $batches->create('enrich', lines: [], file: __FILE__));
        thrown(InvalidArgumentException::class, static fn () => $batches->create('enrich', file: '/no/such/file'));
        thrown(InvalidArgumentException::class, static fn () => $batches->uploadPart('bat_1', 1, 'x', 'xml'));
    },

    'settings that cannot work are refused' => static function (): void {
        foreach (['', "a\n", 'a b', 'é'] as $key) {
            thrown(InvalidArgumentException::class, static fn () => new Client($key, 'http://127.0.0.1:9'));
        }
        foreach (['', 'ftp://x', 'http://u:p@x', 'http://x?y', 'http://x#y', "http://x\n", 'x'] as $url) {
            thrown(InvalidArgumentException::class, static fn () => new Client(KEY, $url));
        }
        foreach ([['timeout' => 0.0], ['maxAttempts' => 0], ['retryDelay' => -1.0], ['timeout' => NAN]] as $setting) {
            thrown(InvalidArgumentException::class, static fn () => new Client(KEY, 'http://x', ...$setting));
        }
    },

    'the key and the address come from the environment too' => static function (): void {
        thrown(InvalidArgumentException::class, static fn () => new Client(KEY));
        putenv('MILLRACE_BASE_URL=http://of-getenv/');
        same('http://of-getenv', (new Client(KEY))->__debugInfo()['baseUrl']);
        $_ENV['MILLRACE_BASE_URL'] = 'http://of-env';
        same('http://of-env', (new Client(KEY))->__debugInfo()['baseUrl']);
        unset($_ENV['MILLRACE_BASE_URL']);
        putenv('MILLRACE_BASE_URL=');
        thrown(InvalidArgumentException::class, static fn () => new Client(KEY));
    },

    'a signed delivery is an event, however its headers are written' => static function (): void {
        $body = '{"type":"batch.completed","timestamp":"2026-01-01T00:00:00Z","data":{"id":"bat_1"}}';
        $event = WebhookEvent::verify($body, signed($body), SECRET);
        same([true, 'bat_1', 'msg_1'], [$event->data instanceof Batch, $event->data->id, $event->id]);
        $lists = array_map(static fn (string $value): array => [$value], signed($body));
        same('batch.completed', WebhookEvent::verify($body, $lists, ['whsec_b3RoZXI=', SECRET])->type);
        $upper = array_change_key_case(signed($body), CASE_UPPER);
        same('batch.completed', WebhookEvent::verify($body, $upper, SECRET)->type);
        $new = '{"type":"moon.phase","timestamp":"2026-01-01T00:00:00Z","data":{"id":1}}';
        same(['id' => 1], WebhookEvent::verify($new, signed($new), SECRET)->data);
    },

    'a delivery that is not signed now is refused, and the secret is not shown' => static function (): void {
        $body = '{"type":"batch.completed","timestamp":"2026-01-01T00:00:00Z","data":{"id":"bat_1"}}';
        $refused = [
            [$body . ' ', signed($body), SECRET],
            [$body, signed($body, SECRET, time() - 301), SECRET],
            [$body, signed($body, SECRET, time() + 302), SECRET],
            [$body, [], SECRET],
            [$body, ['webhook-timestamp' => '1e9'] + signed($body), SECRET],
            ['[]', signed('[]'), SECRET],
            ['5', signed('5'), SECRET],
            ['{"type":1,"timestamp":"","data":{}}', signed('{"type":1,"timestamp":"","data":{}}'), SECRET],
        ];
        foreach ($refused as [$text, $headers, $secrets]) {
            $verify = static fn () => WebhookEvent::verify($text, $headers, $secrets);
            $failed = thrown(WebhookSignatureException::class, $verify);
            $isOwn = static fn (array $frame): bool => ($frame['class'] ?? '') === WebhookEvent::class;
            $frames = array_filter($failed->getTrace(), $isOwn);
            same([true, false], [$frames !== [], str_contains($failed . print_r($frames, true), 'c2VjcmV0')]);
        }
    },

    'a missing secret or body is the mistake of the receiver' => static function (): void {
        foreach (['', 'whsec_', 'whsec_***', []] as $secrets) {
            thrown(InvalidArgumentException::class, static fn () => WebhookEvent::verify('{}', signed('{}'), $secrets));
        }
        thrown(InvalidArgumentException::class, static fn () => WebhookEvent::verify('', signed(''), SECRET));
    },

    'calls run at once, and one that fails has its exception' => static function (): void {
        $client = new Client(KEY, 'http://127.0.0.1:9', maxAttempts: 1);
        $calls = ['a' => static fn (): int => 1, 'b' => $client->health(...), 'c' => static fn (): int => 3];
        $found = $client->concurrently($calls, 2);
        same(['a', 'b', 'c'], array_keys($found));
        same([1, 'network', 3], [$found['a'], $found['b']->errorCode, $found['c']]);
    },

    'an exception has the status as its code, and can be wrapped' => static function (): void {
        $failed = new ApiException('no', 'overloaded', 503);
        same([503, 'overloaded'], [$failed->getCode(), $failed->errorCode]);
        same(503, (new RuntimeException('why', $failed->getCode(), $failed))->getCode());
        same('bad_body', BadBodyException::because('GET /x', 'why', 200)->errorCode);
    },
];

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    return (error_reporting() & $level) === 0 ? false : throw new ErrorException($message, 0, $level, $file, $line);
});
$red = 0;
foreach ($tests as $name => $test) {
    try {
        $test();
    } catch (Throwable $failed) {
        $red++;
        echo "{$name}: {$failed}\n";
    }
}
echo count($tests) - $red, ' of ', count($tests), " tests pass\n";
exit($red === 0 ? 0 : 1);
