/** A list of steps on one page: redrawn in place on a terminal, one line per finished step elsewhere. */
import type { Terminal } from '../terminal/terminal.js';

export type StepState = 'waiting' | 'active' | 'done' | 'failed' | 'skipped';

interface Step {
  readonly title: string;
  state: StepState;
  detail: string;
}

export class StepPage {
  readonly #terminal: Terminal;
  readonly #title: string;
  readonly #steps: Step[];
  #drawnLines = 0;

  constructor(terminal: Terminal, title: string, steps: readonly string[]) {
    this.#terminal = terminal;
    this.#title = title;
    this.#steps = steps.map((step) => ({ title: step, state: 'waiting', detail: '' }));
    if (terminal.isLive) this.#draw();
    else terminal.out(title);
  }

  /** Moves a step on, or only says more about it. */
  set(index: number, state: StepState, detail?: string): void {
    const step = this.#steps[index];
    if (step === undefined) throw new RangeError(`there is no step ${index}`);
    const isOver = state !== step.state && state !== 'waiting' && state !== 'active';
    step.state = state;
    step.detail = detail ?? step.detail;
    if (this.#terminal.isLive) this.#draw();
    else if (isOver) this.#terminal.out(this.#line(step));
  }

  #draw(): void {
    const lines = [this.#title, '', ...this.#steps.map((step) => this.#line(step)), ''];
    // Cursor up to the first line of before; each line clears what stood there.
    const up = this.#drawnLines === 0 ? '' : `\u001b[${this.#drawnLines}A`;
    this.#terminal.out(`${up}${lines.map((line) => `\u001b[2K${line}`).join('\n')}`);
    this.#drawnLines = lines.length;
  }

  #line({ title, state, detail }: Step): string {
    const { colors, columns, isLive } = this.#terminal;
    const marks: Readonly<Record<StepState, string>> = {
      waiting: colors.dim('·'),
      active: colors.cyan('◐'),
      done: colors.green('✓'),
      failed: colors.red('✕'),
      skipped: colors.dim('–'),
    };
    // A line that wraps would break the redrawing.
    const room = isLive ? Math.max(0, columns - title.length - 6) : Number.POSITIVE_INFINITY;
    const shown = detail.length > room ? `${detail.slice(0, Math.max(0, room - 1))}…` : detail;
    const text = state === 'waiting' ? colors.dim(title) : title;
    return `${marks[state]} ${text}${shown === '' ? '' : `  ${colors.dim(shown)}`}`;
  }
}
