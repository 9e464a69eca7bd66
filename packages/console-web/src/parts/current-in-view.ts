/** A row of names wider than its window (on a phone) is scrolled to the current one. */
import { useEffect, useRef } from 'react';

export function useCurrentInView<Row extends HTMLElement>(current: string, where: string) {
  const row = useRef<Row>(null);
  useEffect(() => {
    const box = row.current;
    const one = box?.querySelector<HTMLElement>(current) ?? null;
    if (box === null || one === null) return;
    box.scrollLeft = one.offsetLeft - (box.clientWidth - one.offsetWidth) / 2;
  }, [current, where]);
  return row;
}
