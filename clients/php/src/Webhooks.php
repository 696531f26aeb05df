<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Calls\WebhookCalls;
use Millrace\Internal\Request;
use Millrace\Internal\Transport;
use Millrace\Model\Webhook;
use Millrace\Model\WebhookDelivery;
use Millrace\Model\WebhookList;
use Millrace\Model\WebhookTest;
use Millrace\Model\WebhookWithSecret;

/** `$client->webhooks`. The signature of a delivery is checked by WebhookEvent::verify(). */
class Webhooks
{
    use WebhookCalls;

    /** @internal */
    public function __construct(private readonly Transport $transport)
    {
    }

    /**
     * All webhooks of the key.
     *
     * @return list<Webhook>
     */
    public function list(): array
    {
        return $this->transport->record(WebhookList::class, Request::get('/v1/webhooks'))->data ?? [];
    }

    public function get(string $id): Webhook
    {
        return $this->transport->record(Webhook::class, Request::get(self::path($id)));
    }

    /** Removes the webhook and its deliveries. */
    public function delete(string $id): void
    {
        $this->transport->send(new Request('DELETE', self::path($id)));
    }

    /** Makes a new secret. For 24 hours deliveries are signed with the old one too. */
    public function rotateSecret(string $id, ?string $idempotencyKey = null): WebhookWithSecret
    {
        $request = Request::post(self::path($id) . '/rotate-secret', null, $idempotencyKey);
        return $this->transport->record(WebhookWithSecret::class, $request);
    }

    /** Sends a test event at once, and returns what the receiver answered. */
    public function test(string $id, ?string $idempotencyKey = null): WebhookTest
    {
        $request = Request::post(self::path($id) . '/test', null, $idempotencyKey);
        return $this->transport->record(WebhookTest::class, $request);
    }

    /**
     * Past and pending deliveries, the newest first.
     *
     * @return Pager<WebhookDelivery>
     */
    public function deliveries(string $id, ?int $limit = null): Pager
    {
        return $this->transport->pager(
            WebhookDelivery::class,
            static fn (?string $cursor): Request =>
                Request::get(self::path($id) . '/deliveries', ['limit' => $limit, 'cursor' => $cursor]),
        );
    }

    /** Sends a delivery again. */
    public function redeliver(string $id, string $delivery, ?string $idempotencyKey = null): WebhookDelivery
    {
        $path = self::path($id) . '/deliveries/' . rawurlencode($delivery) . '/redeliver';
        return $this->transport->record(WebhookDelivery::class, Request::post($path, null, $idempotencyKey));
    }

    /** @param array<string, mixed> $params */
    private function createWith(array $params, ?string $idempotencyKey): WebhookWithSecret
    {
        $request = Request::post('/v1/webhooks', $params, $idempotencyKey);
        return $this->transport->record(WebhookWithSecret::class, $request);
    }

    /** @param array<string, mixed> $changes */
    private function updateWith(string $id, array $changes): Webhook
    {
        return $this->transport->record(Webhook::class, new Request('PATCH', self::path($id), body: $changes));
    }

    private static function path(string $id): string
    {
        return '/v1/webhooks/' . rawurlencode($id);
    }
}
