/** The path that was probably meant by one that there is not. Pure. */
import { nearest } from './nearest.ts';

/** @param isPath whether there is something at a path @param fixed paths without parameters */
export function nearPath(path: string, isPath: (path: string) => boolean, fixed: readonly string[]): string | null {
  // An address that ends in a slash makes two of one; libraries add one at the end.
  const plain = `/${path.split('/').filter((part) => part !== '').join('/')}`;
  return [plain, plain.toLowerCase()].find((one) => one !== path && isPath(one)) ?? nearest(plain, fixed);
}
