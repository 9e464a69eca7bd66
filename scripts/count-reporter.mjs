// A vitest reporter that writes how many tests passed, failed and were skipped to HEADGATE_TEST_COUNTS.
import { writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      // A file that cannot be loaded and a hook that fails take tests with them that are counted nowhere else.
      counts.failed += faultsOf(module);
      for (const suite of module.children.allSuites()) counts.failed += faultsOf(suite);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1;
      }
    }
    writeFileSync(process.env['HEADGATE_TEST_COUNTS'], JSON.stringify(counts));
  }
}

function faultsOf(part) {
  return part.errors().length > 0 ? 1 : 0;
}
