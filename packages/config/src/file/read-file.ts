import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export type FileText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly fix: string };

/** Reads a small UTF-8 file; never more than `maxBytes`, whatever the path turns out to be. */
export async function readTextFile(path: string, maxBytes: number): Promise<FileText> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) return { ok: false, message: `${path} is not a file`, fix: 'Name a plain file.' };
      if (stat.size > maxBytes) {
        return {
          ok: false,
          message: `${path} has ${stat.size.toLocaleString('en-US')} bytes, more than ${maxBytes.toLocaleString('en-US')}`,
          fix: 'Shorten it.',
        };
      }
      return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile()) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return { ok: false, ...explain(path, error) };
  }
}

function explain(path: string, error: unknown): { readonly message: string; readonly fix: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
      return { message: `there is no file ${path}`, fix: 'Make it, or name another.' };
    case 'EACCES':
    case 'EPERM':
      return { message: `${path} may not be read by this user`, fix: 'Change its owner or mode.' };
    case 'EISDIR':
      return { message: `${path} is a folder`, fix: 'Name a file.' };
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return { message: `${path} is not UTF-8 text`, fix: 'Save it as UTF-8.' };
    default:
      return {
        message: `${path} cannot be read (${error instanceof Error ? error.message : String(error)})`,
        fix: 'Mend that, or name another file.',
      };
  }
}
