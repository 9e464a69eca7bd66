/**
 * Around each test file. Modules are loaded once for all files of a test process, which saves a third of the time,
 * so what a file left in them is taken back here.
 */
import { disarmAllFailPoints, forgetAllSecrets } from '@headgate/telemetry';
import { endOfFile } from '@headgate/testkit';
import { afterAll } from 'vitest';

afterAll(async () => {
  disarmAllFailPoints();
  forgetAllSecrets();
  await endOfFile();
});
