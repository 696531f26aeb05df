import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that start commands, servers, browsers and compilers: they take longer than their size says. */
const LONG = /\.(?:e2e|sim)\.test\.ts$|\/test\/(?:clients|crash)\/|\/browser\.test\.ts$/;

/** Long files begin, so that none runs alone at the end. A fresh clone has no durations, and Vitest then only knows the sizes of files. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
