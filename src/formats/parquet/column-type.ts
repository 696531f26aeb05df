/** The type of a Parquet column, and its values as text and as JSON. Pure. */
import { isUtf8 } from 'node:buffer';
import type { SchemaElement } from 'hyparquet';
import { parseFloat16 } from 'hyparquet/src/convert.js';

/** As the schema states it. Plain JSON. */
export type ColumnType = Pick<SchemaElement, 'type' | 'type_length' | 'converted_type' | 'logical_type' | 'scale' | 'precision'>;

/**
 * A value as it is stored: BYTE_ARRAY as a string where it is text in UTF-8, INT64 as a bigint, and INT96 as nanoseconds in a bigint. A
 * nested value is its JSON.
 */
export type Cell = string | number | bigint | boolean | Uint8Array | null;

export const TEXT: ColumnType = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
/** Lists, maps and structs are written as JSON. */
export const NESTED: ColumnType = { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } };
/** The timestamps of old writers, which this type replaces. They do not say whether they are instants. */
const OF_INT96: ColumnType = { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' } };

/** The type under which a flat column is written again. */
export function columnTypeOf(element: SchemaElement): ColumnType {
  if (element.type === 'INT96') return OF_INT96;
  const { type, type_length, scale, precision } = element;
  let { converted_type, logical_type } = element;
  // The writer states the bits of a logical integer as a number of 32 bits, which other readers refuse. The older form says the same.
  if (logical_type?.type === 'INTEGER') {
    converted_type = `${logical_type.isSigned ? 'INT' : 'UINT'}_${logical_type.bitWidth}` as NonNullable<SchemaElement['converted_type']>;
    logical_type = undefined;
  }
  return JSON.parse(JSON.stringify({ type, type_length, converted_type, logical_type, scale, precision })) as ColumnType;
}

export function isSameType(one: ColumnType, other: ColumnType): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Whether the values of a type are text, so that bytes that are not UTF-8 are damage. */
export function isText({ converted_type: converted, logical_type: logical }: ColumnType): boolean {
  return ['UTF8', 'ENUM', 'JSON'].includes(converted ?? '') || ['STRING', 'ENUM', 'JSON'].includes(logical?.type ?? '');
}

/** Decimals of 256 bits have 76 digits. */
const MAX_SCALE = 1_000;
const MAX_DECIMAL_BYTES = 64;
const MS_PER_DAY = 86_400_000;
const JULIAN_EPOCH_DAY = 2_440_588n;
const NANOS_PER_DAY = 86_400_000_000_000n;
/** The most milliseconds from 1970 that a Date can have. */
const MAX_MS = 8_640_000_000_000_000;

/** A value as the library decodes it, without its logical type, as a cell. */
export function toCell(value: unknown, { type }: Pick<SchemaElement, 'type'>): Cell {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) {
    if (type !== 'BYTE_ARRAY') return new Uint8Array(value);
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return isUtf8(bytes) ? bytes.toString('utf8') : new Uint8Array(value);
  }
  if (type === 'INT96' && typeof value === 'bigint') {
    const nanos = ((value >> 64n) - JULIAN_EPOCH_DAY) * NANOS_PER_DAY + BigInt.asUintN(64, value);
    return BigInt.asIntN(64, nanos);
  }
  return value as Cell;
}

/** A cell as text, for a table and for keys; '' for null. */
export function cellText(cell: Cell, type: ColumnType): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return cell;
  const known = logicalText(cell, type);
  if (known !== null) return known;
  if (cell instanceof Uint8Array) return Buffer.from(cell).toString('base64');
  if (typeof cell === 'number' && type.type === 'FLOAT') return shortestFloat(cell);
  return String(cell);
}

/** A cell as JSON. Numbers keep every digit; times are texts. */
export function cellJson(cell: Cell, type: ColumnType): string {
  if (cell === null) return 'null';
  if (typeof cell === 'boolean') return String(cell);
  if (isSameType(type, NESTED) && typeof cell === 'string') return cell;
  const text = cellText(cell, type);
  return isNumber(cell, type) && /^-?\d/.test(text) ? text : JSON.stringify(text);
}

/** A cell within a nested value, for `JSON.stringify`. Numbers that JavaScript cannot hold are texts. */
export function cellValue(cell: Cell, type: ColumnType): unknown {
  if (cell === null || typeof cell === 'boolean') return cell;
  const text = cellText(cell, type);
  const number = isNumber(cell, type) ? Number(text) : Number.NaN;
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}

function isNumber(cell: Cell, { converted_type: converted, logical_type: logical }: ColumnType): boolean {
  const meaning = logical?.type ?? converted ?? '';
  if (meaning.startsWith('DECIMAL') || meaning === 'FLOAT16') return true;
  return (typeof cell === 'number' || typeof cell === 'bigint') && (meaning === '' || /^U?INT/.test(meaning));
}

/** The text of a logical type; null for a value without one. */
function logicalText(cell: Cell, type: ColumnType): string | null {
  const { converted_type: converted, logical_type: logical } = type;
  if (logical?.type === 'DECIMAL' || converted === 'DECIMAL')
    return decimalText(cell, type.scale ?? (logical as { scale?: number }).scale ?? 0);
  if (cell instanceof Uint8Array) {
    if (logical?.type === 'UUID' && cell.length === 16) return uuidText(cell);
    return logical?.type === 'FLOAT16' && cell.length === 2 ? String(parseFloat16(cell)) : null;
  }
  if (typeof cell !== 'number' && typeof cell !== 'bigint') return null;
  if (logical?.type === 'DATE' || converted === 'DATE') return dateText(Number(cell));
  if (logical?.type === 'TIMESTAMP') return momentText(BigInt(cell), logical.unit, logical.isAdjustedToUTC);
  if (converted === 'TIMESTAMP_MILLIS' || converted === 'TIMESTAMP_MICROS')
    return momentText(BigInt(cell), converted === 'TIMESTAMP_MILLIS' ? 'MILLIS' : 'MICROS', true);
  if (logical?.type === 'TIME') return timeText(BigInt(cell), logical.unit);
  if (converted === 'TIME_MILLIS' || converted === 'TIME_MICROS')
    return timeText(BigInt(cell), converted === 'TIME_MILLIS' ? 'MILLIS' : 'MICROS');
  const bits = Number(/^UINT_(\d+)$/.exec(converted ?? '')?.[1] ?? 0);
  return bits > 0 ? String(BigInt.asUintN(bits, BigInt(cell))) : null;
}

function decimalText(cell: Cell, scale: number): string | null {
  // A hostile number of a million digits would take hours.
  if (!(scale >= 0 && scale <= MAX_SCALE) || (cell instanceof Uint8Array && cell.length > MAX_DECIMAL_BYTES)) return null;
  const unscaled = cell instanceof Uint8Array ? signed(cell) : typeof cell === 'number' || typeof cell === 'bigint' ? BigInt(cell) : null;
  if (unscaled === null) return null;
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Two's complement, the first byte the highest. */
function signed(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

function uuidText(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function dateText(days: number): string | null {
  const ms = days * MS_PER_DAY;
  return Math.abs(ms) > MAX_MS ? null : new Date(ms).toISOString().replace(/T.*/, '');
}

const DIGITS = { MILLIS: 3, MICROS: 6, NANOS: 9 } as const;

/** ISO 8601, with Z for an instant. Null beyond the years of a Date. */
function momentText(value: bigint, unit: keyof typeof DIGITS, isInstant: boolean): string | null {
  const perSecond = 10n ** BigInt(DIGITS[unit]);
  const seconds = value / perSecond - (value % perSecond < 0n ? 1n : 0n);
  const ms = Number(seconds) * 1_000;
  if (!(Math.abs(ms) <= MAX_MS)) return null;
  return new Date(ms).toISOString().replace('.000Z', fraction(value - seconds * perSecond, unit)) + (isInstant ? 'Z' : '');
}

function timeText(value: bigint, unit: keyof typeof DIGITS): string | null {
  const perSecond = 10n ** BigInt(DIGITS[unit]);
  if (value < 0n || value / perSecond >= 86_400n) return null;
  return new Date(Number(value / perSecond) * 1_000).toISOString().slice(11, 19) + fraction(value % perSecond, unit);
}

function fraction(rest: bigint, unit: keyof typeof DIGITS): string {
  return rest === 0n ? '' : `.${String(rest).padStart(DIGITS[unit], '0')}`;
}

/** The fewest digits that give the same number of 32 bits. */
function shortestFloat(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}
