/** The price of a credit: `service.creditPrice`. Pure. */

export interface CreditPrice {
  /** In `currency`. */
  readonly perCredit: number;
  /** Three letters, ISO 4217. */
  readonly currency: string;
}

/** An amount of money, rounded to hundredths. */
export interface Money {
  readonly amount: number;
  readonly currency: string;
}

/** `0.012 EUR`. */
export const PRICE_TEXT = /^(\d{1,6}(?:\.\d{1,6})?) ([A-Z]{3})$/;

/** @param text as `PRICE_TEXT` has it, or null */
export function readCreditPrice(text: string | null): CreditPrice | null {
  const [, amount, currency] = PRICE_TEXT.exec(text ?? '') ?? [];
  return amount === undefined || currency === undefined ? null : { perCredit: Number(amount), currency };
}

export function costOf(credits: number, { perCredit, currency }: CreditPrice): Money {
  return { amount: Math.round(credits * perCredit * 100) / 100, currency };
}

/** `1,234.50 EUR` */
export function moneyText({ amount, currency }: Money): string {
  const [whole = '', cents = ''] = amount.toFixed(2).split('.');
  return `${whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')}.${cents} ${currency}`;
}
