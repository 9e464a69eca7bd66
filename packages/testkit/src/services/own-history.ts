import { recordHistoryIn } from '@headgate/telemetry';
import { atEnd } from './at-end.js';
import { removeDataFolder, temporaryDataFolder } from './temporary-folder.js';

/** What this process does from here to the end of the file (or test) is recorded: the folder, for `readHistory`. */
export function recordOwnHistory(): string {
  const folder = temporaryDataFolder();
  recordHistoryIn(folder);
  atEnd(() => {
    recordHistoryIn('');
    removeDataFolder(folder);
  });
  return folder;
}
