<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Exception\WebhookSignatureException;
use Millrace\Internal\Catalog;
use Millrace\Model\WebhookTestEvent;

/** A webhook delivery whose signature is right, by Standard Webhooks. */
final readonly class WebhookEvent implements \JsonSerializable
{
    private function __construct(
        /** The same at each attempt to deliver it: store the ids that you have seen. */
        public string $id,
        /** @var Enum\EventName::*|string */
        public string $type,
        public string $timestamp,
        /**
         * The record of the type, such as a Model\Signal for `funding.round`; an array for a type that is not known.
         *
         * @var Record|array<string, mixed>
         */
        public Record|array $data,
    ) {
    }

    /**
     * Returns the event of a delivery that the service signed within `tolerance` seconds.
     *
     * @param string $body the exact bytes that came, such as `file_get_contents('php://input')`
     * @param array<string, string|list<string>> $headers by any case of their names, such as `getallheaders()`
     * @param string|list<string> $secrets `whsec_...`, or several while a secret is replaced
     * @param int $tolerance seconds between the delivery's time and now
     * @throws WebhookSignatureException for any other delivery
     * @throws \InvalidArgumentException without a usable secret or a body: then no delivery could be checked
     */
    public static function verify(
        string $body,
        array $headers,
        #[\SensitiveParameter] string|array $secrets,
        int $tolerance = 300,
    ): self {
        $keys = array_map(self::key(...), $secrets === [] ? [''] : (array) $secrets);
        $given = array_change_key_case($headers);
        [$id, $timestamp, $signatures] = array_map(static function (string $name) use ($given): string {
            $value = implode(' ', (array) ($given[$name] ?? ''));
            return $value !== '' ? $value : throw new WebhookSignatureException("the delivery has no header {$name}");
        }, ['webhook-id', 'webhook-timestamp', 'webhook-signature']);
        if (!ctype_digit($timestamp)) {
            throw new WebhookSignatureException('webhook-timestamp is not a whole number of seconds');
        }
        if (abs(time() - (int) $timestamp) > $tolerance) {
            throw new WebhookSignatureException("webhook-timestamp is more than {$tolerance} seconds away from now");
        }
        if ($body === '') {
            $why = 'body: pass the bytes as they came; a framework that has read them leaves none';
            throw new \InvalidArgumentException($why);
        }
        self::check("{$id}.{$timestamp}.{$body}", explode(' ', $signatures), $keys);
        try {
            $event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
            [$type, $at, $data] = [$event['type'] ?? null, $event['timestamp'] ?? null, $event['data'] ?? null];
            return new self($id, $type, $at, self::record($type, $data));
        } catch (\JsonException | \TypeError) {
            throw new WebhookSignatureException('the body of the delivery is not an event');
        }
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return get_object_vars($this);
    }

    /**
     * @param list<string> $signatures
     * @param list<string> $keys
     */
    private static function check(string $signed, array $signatures, #[\SensitiveParameter] array $keys): void
    {
        $fits = false;
        foreach ($keys as $key) {
            $wanted = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
            foreach ($signatures as $signature) {
                $fits = hash_equals($wanted, $signature) || $fits;
            }
        }
        if (!$fits) {
            throw new WebhookSignatureException('no signature of the delivery fits its body and the secret');
        }
    }

    private static function key(#[\SensitiveParameter] string $secret): string
    {
        $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
        if ($key === false) {
            throw new \InvalidArgumentException('secrets: the secret is not whsec_ and Base64');
        }
        return $key !== '' ? $key : throw new \InvalidArgumentException('secrets: the secret is empty');
    }

    /**
     * @param array<string, mixed> $data
     * @return Record|array<string, mixed>
     */
    private static function record(string $type, array $data): Record|array
    {
        $model = ($data['test'] ?? null) === true ? WebhookTestEvent::class : Catalog::EVENTS[$type] ?? null;
        return $model === null ? $data : new $model($data);
    }
}
