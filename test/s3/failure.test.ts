import { expect, test } from 'vitest';
import { inputError, ledgerError, objectError } from '../../src/s3/failure.ts';

const skewed = Object.assign(new Error('The difference between the request time and the current time is too large.'), {
  name: 'RequestTimeTooSkewed',
});

test('a refusal of the clock says to set it, wherever S3 is used', () => {
  const hint = expect.stringContaining("Set this machine's clock");
  expect(inputError(skewed, 's3://leads/in.csv')).toMatchObject({ code: 'input_read_failed', hint });
  expect(ledgerError(skewed, 's3://leads/ledger', 'read')).toMatchObject({ code: 'ledger_failed', hint });
  expect(objectError(skewed, 's3://leads/out.csv')).toMatchObject({ remedy: hint });
});
