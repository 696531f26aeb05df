<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Internal\Redact;

/**
 * A record as the service sent it.
 *
 * Known fields are properties, and null when the service left them out. Every field that was sent, also one that this
 * version does not know, can be read by its name in JSON: `$record['new_field']`.
 *
 * @implements \ArrayAccess<string, mixed>
 */
abstract readonly class Record implements \ArrayAccess, \JsonSerializable
{
    /** Names of fields that nothing prints. */
    protected const SECRETS = [];

    /** @var array<string, mixed> */
    private array $fields;

    /** @param array<string, mixed> $fields as in JSON */
    public function __construct(#[\SensitiveParameter] array $fields)
    {
        foreach (static::SECRETS as $name) {
            if (isset($fields[$name])) {
                $fields[$name] = new \SensitiveParameterValue($fields[$name]);
            }
        }
        $this->fields = $fields;
    }

    /**
     * The JSON object that was sent, with its secrets.
     *
     * @return array<string, mixed>
     */
    public function toArray(): array
    {
        return array_map(self::reveal(...), $this->fields);
    }

    /** The JSON object that was sent, without its secrets. */
    public function jsonSerialize(): object
    {
        return (object) $this->__debugInfo();
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        $masks = array_fill_keys(static::SECRETS, Redact::MASK);
        return array_replace($this->fields, array_intersect_key($masks, $this->fields));
    }

    public function offsetExists(mixed $offset): bool
    {
        return isset($this->fields[$offset]);
    }

    public function offsetGet(mixed $offset): mixed
    {
        return self::reveal($this->fields[$offset] ?? null);
    }

    public function offsetSet(mixed $offset, mixed $value): never
    {
        throw new \LogicException(static::class . ' cannot be changed');
    }

    public function offsetUnset(mixed $offset): never
    {
        throw new \LogicException(static::class . ' cannot be changed');
    }

    /** The secrets are no properties, because casts and exports show all properties. */
    public function __get(string $name): mixed
    {
        if (in_array($name, static::SECRETS, true)) {
            return $this[$name];
        }
        trigger_error('Undefined property: ' . static::class . "::\${$name}", E_USER_WARNING);
        return null;
    }

    public function __isset(string $name): bool
    {
        return in_array($name, static::SECRETS, true) && isset($this->fields[$name]);
    }

    /** @param array<string, mixed>|null $fields */
    protected static function from(?array $fields): ?static
    {
        return $fields === null ? null : self::of($fields);
    }

    /**
     * @internal
     * @param list<array<string, mixed>>|null $items
     * @return list<static>|null
     */
    public static function listFrom(?array $items): ?array
    {
        if ($items === null) {
            return null;
        }
        self::check(array_is_list($items));
        return array_map(static fn (array $fields): static => self::of($fields), $items);
    }

    /**
     * The same list or map when all of its values are of a type.
     *
     * @param array<mixed>|null $values
     * @param callable(mixed): bool $isOfType
     * @return array<mixed>|null
     */
    protected static function all(?array $values, callable $isOfType, bool $isList = true): ?array
    {
        foreach ($values ?? [] as $value) {
            self::check($value === null || $isOfType($value));
        }
        self::check(!$isList || array_is_list($values ?? []));
        return $values;
    }

    protected static function number(mixed $value): bool
    {
        return is_int($value) || is_float($value);
    }

    /** @param array<string, mixed> $fields */
    private static function of(array $fields): static
    {
        self::check($fields === [] || !array_is_list($fields));
        return new static($fields);
    }

    private static function check(bool $isRight): void
    {
        if (!$isRight) {
            throw new \TypeError('the JSON has another type');
        }
    }

    private static function reveal(mixed $value): mixed
    {
        return $value instanceof \SensitiveParameterValue ? $value->getValue() : $value;
    }
}
