/**
 * The system calls that no command may make, whatever user namespace it is in: doors to what the kernel does not part
 * by namespace, and that builds do without. A command is told that the kernel has none of them (ENOSYS), as on a
 * kernel without, so that programs take their other way.
 *
 * It is a program for the kernel (classic BPF), handed to bubblewrap as bytes. It looks at numbers alone, which differ
 * between processors: one that is not in the table has no filter. Numbers of another processor's kind (32-bit programs,
 * x32) would slip through, so those calls are refused altogether.
 */

interface Refused {
  readonly x64: number;
  readonly arm64: number;
  /** Only when its second argument is more. */
  readonly sizeAbove?: number;
}

/**
 * Keys belong to whoever started the worker, and a session's keyring is inherited through every namespace. `syslog` is
 * the machine's own log. `io_uring` does what other filters forbid. The others are known for holes in the kernel, and
 * are of use to profilers only.
 */
const ALWAYS: readonly Refused[] = [
  { x64: 248, arm64: 217 }, // add_key
  { x64: 249, arm64: 218 }, // request_key
  { x64: 250, arm64: 219 }, // keyctl
  { x64: 103, arm64: 116 }, // syslog
  { x64: 321, arm64: 280 }, // bpf
  { x64: 298, arm64: 241 }, // perf_event_open
  { x64: 323, arm64: 282 }, // userfaultfd
  { x64: 425, arm64: 425 }, // io_uring_setup
  { x64: 426, arm64: 426 }, // io_uring_enter
  { x64: 427, arm64: 427 }, // io_uring_register
];

/** Of shared segments there are at most 4 096: Postgres needs a small one, and all of these are 256 MiB. */
const SMALL_SEGMENT_BYTES = 64 * 1024;

/** Memory that belongs to no process is seen by a control group and by nothing else. */
const WITHOUT_MEMORY_GROUP: readonly Refused[] = [
  { x64: 319, arm64: 279 }, // memfd_create
  { x64: 29, arm64: 194, sizeAbove: SMALL_SEGMENT_BYTES }, // shmget
];

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
/** Set in the numbers of x32, which share x64's architecture. */
const X32_BIT = 0x4000_0000;

const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER = 0x25;
const JUMP_IF_GREATER_OR_EQUAL = 0x35;
const RETURN = 0x06;
/** Of `struct seccomp_data`; an argument has 64 bits, the lower half first. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const SIZE_OFFSET = 24;
const ALLOW = 0x7fff_0000;
const ENOSYS = 38;
const REFUSE = 0x0005_0000 | ENOSYS;

/** Skips so many of the instructions that follow. */
interface Instruction {
  readonly code: number;
  readonly value: number;
  readonly skipIfTrue?: number;
  readonly skipIfFalse?: number;
}

/** null: this processor is not in the table. */
export function systemCallFilter(options: {
  readonly hasMemoryGroup: boolean;
  readonly processor?: string;
}): Buffer | null {
  const processor = options.processor ?? process.arch;
  if (processor !== 'x64' && processor !== 'arm64') return null;
  const refused = [...ALWAYS, ...(options.hasMemoryGroup ? [] : WITHOUT_MEMORY_GROUP)];
  const program: Instruction[] = [
    { code: LOAD_WORD, value: ARCHITECTURE_OFFSET },
    { code: JUMP_IF_EQUAL, value: ARCHITECTURES[processor], skipIfTrue: 1 },
    { code: RETURN, value: REFUSE },
    { code: LOAD_WORD, value: NUMBER_OFFSET },
    { code: JUMP_IF_GREATER_OR_EQUAL, value: X32_BIT, skipIfFalse: 1 },
    { code: RETURN, value: REFUSE },
    ...refused.flatMap((call) => refusal(call[processor], call.sizeAbove)),
    { code: RETURN, value: ALLOW },
  ];
  return Buffer.concat(program.map(encoded));
}

function refusal(number: number, sizeAbove: number | undefined): readonly Instruction[] {
  if (sizeAbove === undefined) {
    return [
      { code: JUMP_IF_EQUAL, value: number, skipIfFalse: 1 },
      { code: RETURN, value: REFUSE },
    ];
  }
  return [
    { code: JUMP_IF_EQUAL, value: number, skipIfFalse: 6 },
    { code: LOAD_WORD, value: SIZE_OFFSET + 4 },
    { code: JUMP_IF_GREATER, value: 0, skipIfTrue: 2 },
    { code: LOAD_WORD, value: SIZE_OFFSET },
    { code: JUMP_IF_GREATER, value: sizeAbove, skipIfFalse: 1 },
    { code: RETURN, value: REFUSE },
    { code: RETURN, value: ALLOW },
  ];
}

/** `struct sock_filter`, in the byte order of both processors. */
function encoded({ code, value, skipIfTrue = 0, skipIfFalse = 0 }: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(skipIfTrue, 2);
  bytes.writeUInt8(skipIfFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
