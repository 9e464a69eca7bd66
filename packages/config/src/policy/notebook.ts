import type { YamlFile } from '../file/index.js';
import { type Complaint, formatPath, type Path, type Problem } from '../problems/index.js';

/** Where the second reading (references between entries) notes what it finds. */
export class Notebook {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #file: YamlFile;

  constructor(file: YamlFile) {
    this.#file = file;
  }

  problem(path: Path, message: string, fix: string): void {
    this.problems.push(this.#at(path, { message, fix }));
  }

  warning(path: Path, message: string, fix: string): void {
    this.warnings.push(this.#at(path, { message, fix }));
  }

  #at(path: Path, complaint: Complaint): Problem {
    return { path: formatPath(path), ...this.#file.locate(path), ...complaint };
  }
}
