import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output of the run with one line for scripts: `N passed, N failed, N skipped`. Before it stand the tests that were retried. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const lines: string[] = [];
    for (const module of modules) {
      // A file that could not be loaded has no tests that could fail.
      if (module.state() === 'failed' && module.children.size === 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state]++;
        if (test.diagnostic()?.flaky === true)
          lines.push(`Passed at the second attempt, mend it: ${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    lines.push(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
