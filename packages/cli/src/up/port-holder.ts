/** Who listens on a port, from /proc: no other program is needed, and none may be installed. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface PortHolder {
  readonly pid: number;
  readonly commandLine: string;
}

/** State 0A in proc(5) net/tcp. */
const LISTENING = '0A';

/** Null when the system does not tell, or the process is somebody else's and we may not look. */
export function portHolder(port: number): PortHolder | null {
  const inodes = new Set([
    ...listeningInodes('/proc/net/tcp', port),
    ...listeningInodes('/proc/net/tcp6', port),
  ]);
  if (inodes.size === 0) return null;
  for (const entry of namesIn('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    if (namesIn(`/proc/${entry}/fd`).some((fd) => inodes.has(linkOf(`/proc/${entry}/fd/${fd}`)))) {
      return { pid: Number(entry), commandLine: commandLineOf(entry) };
    }
  }
  return null;
}

/** One sentence for people. */
export function portTaken(port: number): string {
  const holder = portHolder(port);
  return holder === null
    ? `Port ${port} is taken by another process (one that this user may not see).`
    : `Port ${port} is taken by process ${holder.pid} (${holder.commandLine}).`;
}

function listeningInodes(file: string, port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return textOf(file)
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${wanted}`) === true && fields[3] === LISTENING)
    .map((fields) => `socket:[${fields[9] ?? ''}]`);
}

const MAX_COMMAND = 120;

function commandLineOf(pid: string): string {
  const words = textOf(`/proc/${pid}/cmdline`).split('\0').join(' ').trim();
  return words.length > MAX_COMMAND ? `${words.slice(0, MAX_COMMAND)}…` : words;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
