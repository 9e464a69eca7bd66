/** j and k move the focus from row to row, of a list whose rows are all in the document; Enter follows the link. */
import { useKeys } from './keys.js';

export function useRowFocus(): void {
  const move = (step: number): void => {
    const links = [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
    const focused = document.activeElement;
    const at = focused instanceof HTMLElement ? links.indexOf(focused) : -1;
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
}
